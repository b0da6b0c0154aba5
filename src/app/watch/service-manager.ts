/** The service managers: systemd for a user, launchd. Each has a file and commands. */
import { execFile } from 'node:child_process';
import { isAbsolute, join, sep } from 'node:path';
import { SESSION_PLACES } from '../../agents/session-places.ts';
import { TachoError } from '../../lib/errors.ts';
import { own } from '../../lib/own.ts';
import { APP_LIMITS } from '../limits.ts';
import {
  byHand,
  LAUNCHD_LABEL,
  launchdAgent,
  type ServiceCommand,
  SYSTEMD_UNIT,
  systemdUnit,
} from './service-files.ts';

export const STAGE = 'service';

interface Ran {
  /** Null: it could not be started, or was killed. */
  code: number | null;
  /** Its output, for messages. */
  output: string;
}

export interface ServiceContext {
  platform: NodeJS.Platform;
  home: string;
  env: Readonly<Record<string, string | undefined>>;
  /** Runs a program, without a shell. */
  exec(program: string, args: readonly string[]): Promise<Ran>;
  /** Absolute paths of this Node and of tacho's launcher. */
  node: string;
  launcher: string;
  /** Arguments of `tacho watch`. Paths in them are absolute. */
  args: readonly string[];
  /** Receives texts for people. */
  say(text: string): void;
  /** Null: nobody can be asked. */
  confirm(question: string): boolean | null;
}

export interface Command {
  words: readonly [program: string, ...args: string[]];
  /** Its failure is ignored: the service may not be running. */
  optional?: boolean;
  /** Attempts, a second apart. Default: 1. */
  tries?: number;
}

export interface Service {
  path: string;
  text: string;
  /** `changed`: a running service must be restarted. */
  start(changed: boolean): readonly Command[];
  stop: readonly Command[];
  /** After the file is removed. */
  finish: readonly Command[];
  /** Links to the file that the service manager makes. */
  links: readonly string[];
  /** A hint at the end of the installation. */
  note: string;
}

/** Runs a program with a time limit. */
export const execWith =
  (env: NodeJS.ProcessEnv): ServiceContext['exec'] =>
  (program, args) =>
    new Promise((resolve) => {
      const limits = { timeout: APP_LIMITS.service_command_ms, maxBuffer: 64 * 1024 };
      execFile(program, [...args], { env, ...limits }, (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : null;
        const output = `${stdout}${stderr}`.trim();
        resolve({ code, output: output || (error?.message ?? '') });
      });
    });

export const refused = (text: string) => new TachoError('refused', text, { stage: STAGE });

/** Variables in which the user's shell may have set the places of stores. A service would not inherit them. */
const PLACES = /\$([A-Z][A-Z0-9_]*)/g;

function placesIn(env: ServiceContext['env']): Record<string, string> {
  const named = Object.values(SESSION_PLACES).flatMap((text) =>
    [...text.matchAll(PLACES)].map(([, name = '']) => name),
  );
  const names = ['TACHO_HOME', 'XDG_CONFIG_HOME', 'XDG_STATE_HOME', ...named];
  const set = [...new Set(names)].sort().map((name) => [name, env[name] ?? ''] as const);
  return Object.fromEntries(set.filter(([, value]) => isAbsolute(value)));
}

function commandOf({ node, launcher, args, env }: ServiceContext): ServiceCommand {
  return { node, launcher, args: ['watch', ...args], env: placesIn(env) };
}

function checkCommand({ node, launcher, args, env }: ServiceCommand): void {
  const texts = [node, launcher, ...args, ...Object.values(env)];
  if (texts.some((text) => /[\u0000-\u001f\u007f]/.test(text)))
    throw refused('a path of the service contains a control character: use another folder');
  // systemd refuses such a program, quoted or not.
  if (/["'\\]/.test(node) && sep === '/')
    throw refused(`the path of Node contains a quote or a backslash: ${node}: use another Node`);
  if (launcher.split(sep).includes('_npx'))
    throw refused(
      'npx removes its copy of tacho some time later: install it first, with npm install -g tacho',
    );
}

/** `said`: the manager's environment. Its folder of units may differ from the one of this shell. */
function systemd({ home }: ServiceContext, command: ServiceCommand, said: string): Service {
  const [, given] = /^XDG_CONFIG_HOME=(\/.*)$/m.exec(said) ?? [];
  const units = join(given ?? join(home, '.config'), 'systemd', 'user');
  const manager = (...args: string[]): Command => ({ words: ['systemctl', '--user', ...args] });
  return {
    path: join(units, SYSTEMD_UNIT),
    text: systemdUnit(command),
    start: (changed) => [
      manager('daemon-reload'),
      manager('enable', SYSTEMD_UNIT),
      manager(changed ? 'restart' : 'start', SYSTEMD_UNIT),
    ],
    stop: [{ ...manager('disable', '--now', SYSTEMD_UNIT), optional: true }],
    finish: [{ ...manager('daemon-reload'), optional: true }],
    links: [join(units, 'default.target.wants', SYSTEMD_UNIT)],
    note: `Its messages: journalctl --user -u ${SYSTEMD_UNIT}. It runs while you are logged in; to run it always: loginctl enable-linger`,
  };
}

function launchd({ home }: ServiceContext, command: ServiceCommand): Service {
  const domain = `gui/${process.getuid?.() ?? 0}`;
  const log = join(home, 'Library', 'Logs', 'tacho-watch.log');
  const path = launchdPath(home);
  const unload: Command = {
    words: ['launchctl', 'bootout', `${domain}/${LAUNCHD_LABEL}`],
    optional: true,
  };
  return {
    path,
    text: launchdAgent(command, log),
    // A loaded service cannot be loaded again, and unloading takes a moment.
    start: () => [unload, { words: ['launchctl', 'bootstrap', domain, path], tries: 3 }],
    stop: [unload],
    finish: [],
    links: [],
    note: `Its messages: ${log}`,
  };
}

/** Where the file of the service usually is. Null on other systems. */
export function usualServicePath(platform: NodeJS.Platform, home: string): string | null {
  if (platform === 'darwin') return launchdPath(home);
  return platform === 'linux' ? join(home, '.config', 'systemd', 'user', SYSTEMD_UNIT) : null;
}

const launchdPath = (home: string) =>
  join(home, 'Library', 'LaunchAgents', `${LAUNCHD_LABEL}.plist`);

interface Manager {
  name: string;
  make: typeof systemd;
  /** Succeeds if the manager answers. */
  probe: Command['words'];
}

const MANAGERS: Readonly<Record<string, Manager>> = {
  linux: {
    name: 'systemd user session',
    make: systemd,
    probe: ['systemctl', '--user', 'show-environment'],
  },
  darwin: { name: 'launchd', make: launchd, probe: ['launchctl', 'version'] },
};

/** `needed`: throws a TachoError with another way if no service manager answers. */
export async function serviceOf(context: ServiceContext, needed: boolean): Promise<Service> {
  const command = commandOf(context);
  if (needed) checkCommand(command);
  const manager = own(MANAGERS, context.platform);
  const instead = byHand(command, context.platform);
  if (manager === undefined) throw refused(`tacho cannot install a service here: ${instead}`);
  const [program, ...args] = manager.probe;
  const { code, output } = await context.exec(program, args);
  if (code === 0 || !needed) return manager.make(context, command, code === 0 ? output : '');
  const [why = ''] = output.split('\n');
  throw refused(`no ${manager.name} answers on this machine (${why}): ${instead}`);
}
