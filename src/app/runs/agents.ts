/** The facts that `tacho agents` prints: installed or not, versions, capabilities, permissions (AG-17). */
import { spawn } from 'node:child_process';
import { allAgents } from '../../agents/registry.ts';
import { REHEARSALS } from '../../agents/rehearsals.ts';
import { findProgram } from '../../capture/source/find-program.ts';
import type { Colours } from '../../lib/colours.ts';
import { tableLines } from '../../lib/terminal-text.ts';
import { compareVersions } from '../../lib/versions.ts';
import type { Agent, Capabilities } from '../../model/agent.ts';
import type { ApproveMode } from '../../model/words.ts';
import { agentOf } from '../config/agent-of.ts';

/** A supported agent on this machine. */
export interface AgentReport {
  /** Id of the agent, for the option `agent`. */
  id: string;
  /** Name of the product. */
  title: string;
  /** Whether its program was found on the PATH, or is part of tacho. */
  installed: boolean;
  /** Whether it is part of tacho. */
  built_in: boolean;
  /** Path of its program; null if it is built in or not installed. */
  path: string | null;
  /** The version that its program reports; null if unknown. */
  version: string | null;
  /** Whether the adapter was checked against the installed version. Null if unknown. */
  version_checked: boolean | null;
  /** The versions that the adapter was checked against. */
  checked_versions: readonly string[];
  /** Whether `tacho run` can start it. */
  run: boolean;
  /** Whether `tacho import` reads its session files. */
  import: boolean;
  /** Whether its session files are in a known place, where `tacho watch` and `tacho import --all` find them. */
  watch: boolean;
  /** The rehearsals of its real program with a scripted model that matched the script, newest version first. */
  rehearsed: readonly RehearsedVersion[];
  /** How to install it. */
  install: string;
  /** When the record has each kind of fact: live, at the end of the run, from the session file after it, or never. */
  capabilities: Capabilities;
  /** The effect of each value of `approve` on this agent; null if it cannot be run. */
  approval: Readonly<Record<ApproveMode, string>> | null;
}

/** A version of an agent's program that was rehearsed. */
export interface RehearsedVersion {
  /** The npm package of the program. */
  package: string;
  /** Its version. */
  version: string;
  /** The day of the rehearsal, as YYYY-MM-DD. */
  date: string;
}

/** A program with a slow runtime answers in a second or two. */
const VERSION_WAIT_MS = 10_000;
const VERSION_CHARS_MAX = 64 * 1024;

/** The version that the program reports. Null if it does not answer. */
function versionOf(path: string, args: readonly string[]): Promise<string | null> {
  return new Promise((resolve) => {
    // In its own group, so that everything that a hanging program has started is terminated with it.
    const child = spawn(path, [...args], { stdio: ['ignore', 'pipe', 'ignore'], detached: true });
    let said = '';
    const stop = () => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
      } catch {
        // It has already exited.
      }
    };
    const timer = setTimeout(stop, VERSION_WAIT_MS);
    child.stdout.on('data', (piece: Buffer) => {
      said += piece.toString('latin1');
      if (said.length > VERSION_CHARS_MAX) stop();
    });
    const end = (version: string | null) => {
      clearTimeout(timer);
      resolve(version);
    };
    child.on('error', () => end(null));
    child.on('close', (code) => {
      const [version = null] = /\d+\.\d+(?:[\w.+-]*\w)?/.exec(said) ?? [];
      end(code === 0 ? version : null);
    });
  });
}

async function reportOf(agent: Agent, env: NodeJS.ProcessEnv): Promise<AgentReport> {
  const { id, title, install, capabilities, approval, checked_versions } = agent;
  const built_in = agent.binaries.length === 0;
  const [path = null] = agent.binaries.flatMap(
    (name) => findProgram(name, env.PATH, process.cwd()) ?? [],
  );
  const said = path === null ? null : await versionOf(path, agent.version_args);
  const version = built_in ? (checked_versions[0] ?? null) : said;
  const compared = version !== null && checked_versions.length > 0;
  const version_checked = compared ? checked_versions.includes(version) : null;
  const installed = built_in || path !== null;
  const found = { id, title, installed, built_in, path, version, version_checked };
  const uses = { ...usesOf(agent), rehearsed: rehearsedOf(id) };
  return { ...found, checked_versions, ...uses, install, capabilities, approval };
}

/** The commands that work with an agent. */
export function usesOf({ launch, session }: Agent): Pick<AgentReport, 'run' | 'import' | 'watch'> {
  return {
    run: launch !== null,
    import: session !== null,
    watch: session?.list !== undefined,
  };
}

function rehearsedOf(id: string): RehearsedVersion[] {
  return REHEARSALS.filter(({ agent }) => agent === id)
    .map(({ package: name, version, date }) => ({ package: name, version, date }))
    .sort((a, b) => compareVersions(b.version, a.version));
}

export async function agentReports(
  id: string | undefined,
  env: NodeJS.ProcessEnv,
): Promise<AgentReport[]> {
  const agents = id === undefined ? await allAgents() : [await agentOf(id)];
  return Promise.all(agents.map((agent) => reportOf(agent, env)));
}

/** The version, or how to install or use the agent. */
function versionText(report: AgentReport): string {
  const { built_in, installed, install, version, version_checked, path } = report;
  if (built_in || !installed) return install;
  if (version === null) return `unknown, ${path}`;
  const checked =
    version_checked !== false ? '' : ` (checked: ${report.checked_versions.join(', ')})`;
  return `${version}${checked}, ${path}`;
}

const HEAD = [
  'AGENT',
  'NAME',
  'RUN',
  'IMPORT',
  'WATCH',
  'REHEARSED',
  'VERSION, OR HOW TO INSTALL IT',
];
const yesNo = (yes: boolean) => (yes ? 'yes' : 'no');

export function agentsText(reports: readonly AgentReport[], { bold, dim }: Colours): string {
  const [first, ...others] = reports;
  if (first !== undefined && others.length === 0) return agentText(first, bold);
  const rows = reports.map((report) => [
    report.id,
    report.title,
    yesNo(report.run),
    yesNo(report.import),
    yesNo(report.watch),
    report.rehearsed[0]?.version ?? 'no',
    versionText(report),
  ]);
  const [head = '', ...lines] = tableLines([HEAD, ...rows], () => false);
  const shown = lines.map((line, at) => {
    const { id, installed } = reports[at] as AgentReport;
    return installed ? `${bold(id)}${line.slice(id.length)}` : dim(line);
  });
  const more = 'See what one agent reports and may do: tacho agents AGENT';
  return `${[dim(head), ...shown, '', more].join('\n')}\n`;
}

function agentText(report: AgentReport, bold: (text: string) => string): string {
  const { id, title, installed } = report;
  const state = `${installed ? '' : 'not installed: '}${versionText(report)}`;
  const lines = [`${bold(id)}  ${title}: ${state}`, '', ...useLines(report), ''];
  return `${[...lines, ...capabilityLines(report), ...approvalLines(report)].join('\n')}\n`;
}

function useLines(report: AgentReport): string[] {
  const names = (['run', 'import', 'watch'] as const).filter((name) => report[name]);
  const rehearsed = report.rehearsed.map((one) => `${one.package} ${one.version} (${one.date})`);
  return [
    `  works with  ${names.map((name) => `tacho ${name}`).join(', ')}`,
    `  rehearsed   ${rehearsed.join(', ') || 'no'}`,
  ];
}

const WHEN_TEXT = {
  live: 'live',
  end: 'at the end of the run',
  after: 'after the run, from its session file',
  never: 'never',
} as const;

function capabilityLines({ capabilities }: AgentReport): string[] {
  const names = Object.keys(capabilities) as (keyof Capabilities)[];
  const width = Math.max(...names.map((name) => name.length));
  return names.map(
    (name) => `  ${name.replaceAll('_', ' ').padEnd(width)}  ${WHEN_TEXT[capabilities[name]]}`,
  );
}

function approvalLines({ approval }: AgentReport): string[] {
  if (approval === null) return [];
  const width = Math.max(...Object.keys(approval).map((mode) => mode.length));
  const lines = Object.entries(approval).map(([mode, text]) => `  ${mode.padEnd(width)}  ${text}`);
  return ['', '--approve', ...lines];
}
