/** The texts of a service that runs `tacho watch`: a systemd user unit, a launchd agent, or commands for people. Pure. */
import { createHash } from 'node:crypto';
import { withoutMarkup } from '../../lib/foreign-text.ts';
import { own } from '../../lib/own.ts';

/** The command line and the variables of the service. */
export interface ServiceCommand {
  /** Absolute paths of this Node and of tacho's launcher. */
  node: string;
  launcher: string;
  /** `watch` and its arguments. */
  args: readonly string[];
  /** Variables that decide where stores are. */
  env: Readonly<Record<string, string>>;
}

export const SYSTEMD_UNIT = 'tacho-watch.service';
export const LAUNCHD_LABEL = 'dev.tacho.watch';

/**
 * Quoted for a unit file (systemd.syntax(7)): backslash escapes, and `%` begins a specifier. In an argument, `$` begins
 * a variable, but not in the path of the program.
 */
const unitQuoted = (text: string) =>
  `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('%', '%%')}"`;
const unitWord = (text: string) => unitQuoted(text).replaceAll('$', '$$$$');

const MARK =
  'Written by tacho watch --install; tacho watch --uninstall removes it. sha256 of the rest:';
const MARK_LINE = new RegExp(`^(?:# |<!-- )${MARK} ([0-9a-f]{64})(?: -->)?\\n`, 'm');

const hashOf = (text: string) => createHash('sha256').update(text).digest('hex');

/** Adds a line that identifies the file as ours and unchanged. `at`: its position. */
function marked(text: string, comment: (line: string) => string, at = 0): string {
  return `${text.slice(0, at)}${comment(`${MARK} ${hashOf(text)}`)}\n${text.slice(at)}`;
}

/** Whether `marked` wrote the file, and nobody changed it since. */
export function isOurs(text: string): boolean {
  const [line, hash] = MARK_LINE.exec(text) ?? [];
  return line !== undefined && hashOf(text.replace(line, '')) === hash;
}

/**
 * Limits and hardening that need no privileges: a user's manager often cannot create mount namespaces, so the file
 * system stays as it is. The compiler in Node needs memory that is both writable and executable. Code 2 reports a
 * mistake of the user, which another start does not repair.
 */
export function systemdUnit({ node, launcher, args, env }: ServiceCommand): string {
  const variables = Object.entries(env).map(
    ([name, value]) => `Environment=${unitQuoted(`${name}=${value}`)}\n`,
  );
  const text = `[Unit]
Description=Record the sessions of coding agents (tacho watch)
Documentation=https://github.com/tacho-dev/tacho

[Service]
Type=exec
ExecStart=${[unitQuoted(node), ...[launcher, ...args].map(unitWord)].join(' ')}
${variables.join('')}Restart=on-failure
RestartSec=30
RestartPreventExitStatus=2
Nice=10
IOSchedulingClass=best-effort
IOSchedulingPriority=7
CPUWeight=20
MemoryMax=1G
UMask=0077
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
SystemCallArchitectures=native

[Install]
WantedBy=default.target
`;
  return marked(text, (line) => `# ${line}`);
}

const xmlString = (text: string) => `<string>${withoutMarkup(text)}</string>`;

/** `log`: the path of the log file. */
export function launchdAgent({ node, launcher, args, env }: ServiceCommand, log: string): string {
  const head = '<?xml version="1.0" encoding="UTF-8"?>\n';
  const words = [node, launcher, ...args].map((word) => `    ${xmlString(word)}\n`).join('');
  const variables = Object.entries(env)
    .map(([name, value]) => `    <key>${withoutMarkup(name)}</key>${xmlString(value)}\n`)
    .join('');
  const text = `${head}<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>${xmlString(LAUNCHD_LABEL)}
  <key>ProgramArguments</key>
  <array>
${words}  </array>
  <key>EnvironmentVariables</key>
  <dict>
${variables}  </dict>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
  <key>ThrottleInterval</key><integer>30</integer>
  <key>ProcessType</key><string>Background</string>
  <key>LowPriorityIO</key><true/>
  <key>Nice</key><integer>10</integer>
  <key>Umask</key><integer>63</integer>
  <key>StandardOutPath</key>${xmlString(log)}
  <key>StandardErrorPath</key>${xmlString(log)}
</dict>
</plist>
`;
  return marked(text, (line) => `<!-- ${line} -->`, head.length);
}

/** The paths of Node and of the launcher in a file that `systemdUnit` or `launchdAgent` wrote. Empty if there are none. */
export function programsInService(text: string): string[] {
  const [, node, launcher] = /^ExecStart="((?:[^"\\]|\\.)*)" "((?:[^"\\]|\\.)*)"/m.exec(text) ?? [];
  if (node !== undefined && launcher !== undefined)
    return [unitText(node), unitText(launcher).replaceAll('$$', '$')];
  const [, list = ''] = /<key>ProgramArguments<\/key>\s*<array>(.*?)<\/array>/s.exec(text) ?? [];
  return [...list.matchAll(/<string>(.*?)<\/string>/gs)]
    .slice(0, 2)
    .map(([, word = '']) => xmlText(word));
}

const unitText = (quoted: string) => quoted.replaceAll('%%', '%').replace(/\\(.)/g, '$1');
const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
};
const xmlText = (text: string) =>
  text.replace(/&(?:(amp|lt|gt|quot|apos)|#(\d+));/g, (_, name: string, code: string) =>
    name ? (own(ENTITIES, name) ?? '') : String.fromCodePoint(Number(code)),
  );

const shellWord = (word: string) =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

/** For a machine without a service manager. */
export function byHand({ node, launcher, args }: ServiceCommand, platform: string): string {
  const words = [node, launcher, ...args];
  if (platform === 'win32') {
    const line = words.map((word) => `\\"${word}\\"`).join(' ');
    return `use the Task Scheduler:\n  schtasks /Create /TN "tacho watch" /SC ONLOGON /TR "${line}"`;
  }
  const line = words.map(shellWord).join(' ');
  // cron replaces an unescaped % with a line break.
  return `start it yourself:\n  nohup ${line} >/dev/null 2>&1 &\nor at every start of the machine, with a line in crontab -e:\n  @reboot ${line.replaceAll('%', '\\%')}`;
}
