/** The facts that `tacho agents` prints: installed or not, versions, capabilities, permissions (AG-17). */
import { spawn } from 'node:child_process';
import { allAgents } from '../../agents/registry.ts';
import { findProgram } from '../../capture/source/find-program.ts';
import type { Colours } from '../../lib/colours.ts';
import { tableLines } from '../../lib/terminal-text.ts';
import type { Agent, Capabilities } from '../../model/agent.ts';
import { agentOf } from '../config/agent-of.ts';

export interface AgentReport {
  id: string;
  title: string;
  installed: boolean;
  built_in: boolean;
  path: string | null;
  version: string | null;
  /** Whether the adapter was checked against the installed version. Null if unknown. */
  version_checked: boolean | null;
  checked_versions: readonly string[];
  install: string;
  capabilities: Capabilities;
  approval: Agent['approval'];
}

/** A program with a slow runtime answers in a second or two. */
const VERSION_WAIT_MS = 10_000;
const VERSION_CHARS_MAX = 64 * 1024;

/** The version that the program reports. Null if it does not answer. */
function versionOf(path: string, args: readonly string[]): Promise<string | null> {
  return new Promise((resolve) => {
    // In its own group, so that everything a hanging program has started ends with it.
    const child = spawn(path, [...args], { stdio: ['ignore', 'pipe', 'ignore'], detached: true });
    let said = '';
    const stop = () => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
      } catch {
        // It has already ended.
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
  const version_checked = version === null ? null : checked_versions.includes(version);
  const installed = built_in || path !== null;
  const found = { id, title, installed, built_in, path, version, version_checked };
  return { ...found, checked_versions, install, capabilities, approval };
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
  const checked = version_checked ? '' : ` (checked: ${report.checked_versions.join(', ')})`;
  return `${version}${checked}, ${path}`;
}

const HEAD = ['AGENT', 'NAME', 'VERSION, OR HOW TO INSTALL IT'];

export function agentsText(reports: readonly AgentReport[], { bold, dim }: Colours): string {
  const [first, ...others] = reports;
  if (first !== undefined && others.length === 0) return agentText(first, bold);
  const rows = reports.map((report) => [report.id, report.title, versionText(report)]);
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
  const lines = [`${bold(id)}  ${title}: ${state}`, ''];
  return `${[...lines, ...capabilityLines(report), '', ...approvalLines(report)].join('\n')}\n`;
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
  const width = Math.max(...Object.keys(approval).map((mode) => mode.length));
  const lines = Object.entries(approval).map(([mode, text]) => `  ${mode.padEnd(width)}  ${text}`);
  return ['--approve', ...lines];
}
