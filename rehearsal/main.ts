/**
 * `npm run rehearse -- [AGENT…] [--scenario NAME]… [--watch] [--keep] [--json] [--write-docs]`
 * Runs every agent's real CLI, at its pinned version, with a scripted model, in a sandbox, recorded by the built tacho.
 * Exit: 0 all as expected · 1 some deviations · 2 usage · 3 cannot be rehearsed here.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Rehearsed } from './agents/agent.ts';
import { REHEARSED } from './agents/index.ts';
import { type Installed, install } from './install.ts';
import { judge } from './judge.ts';
import { type Kept, rehearsalPage, rehearsalsModule, withResults } from './kept.ts';
import { type Result, terminalTable, titleOf, unique } from './matrix.ts';
import { type Rehearsal, rehearse } from './rehearse.ts';
import { whyNoSandbox } from './sandbox.ts';
import { SCENARIOS, type Scenario } from './scenarios.ts';
import { rehearseWatch, WATCHED } from './watch/rehearse.ts';

const PROJECT = dirname(import.meta.dirname);
const HELP = `npm run rehearse -- [AGENT…] [options]

  --scenario NAME  only this scenario; may be repeated
  --watch          start the agents by hand while tacho watch follows them, instead of recording scenarios
  --keep           keep the files of each scenario
  --json           print the results as JSON
  --write-docs     update rehearsal/results.json, and the files made from it

agents:    ${unique(REHEARSED.map(({ id }) => id)).join(', ')}
scenarios: ${SCENARIOS.map(({ name }) => name).join(', ')}
`;
const RESULTS = join(PROJECT, 'rehearsal', 'results.json');
const DOCS = join(PROJECT, 'docs', 'reference', 'rehearsal.md');
const MODULE = join(PROJECT, 'src', 'agents', 'rehearsals.ts');
/** Each runs an agent, a model and tacho; more would only wait for each other on a small machine. */
const PARALLEL = 2;

interface Wanted {
  agents: readonly Rehearsed[];
  /** Requested by name: a failed installation ends the rehearsal. Otherwise the agent is skipped with a message. */
  by_name: boolean;
  scenarios: readonly Scenario[];
  watch: boolean;
  keep: boolean;
  json: boolean;
  write_docs: boolean;
}

type Say = (line: string) => unknown;

/** Ends the rehearsal with a message and an exit code. */
class Stop extends Error {
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

function chosen<T>(all: readonly T[], names: readonly string[], nameOf: (item: T) => string): T[] {
  const unknown = names.find((name) => all.every((item) => nameOf(item) !== name));
  if (unknown !== undefined) {
    throw new Stop(2, `"${unknown}" is unknown; choose from ${unique(all.map(nameOf)).join(', ')}`);
  }
  return all.filter((item) => names.length === 0 || names.includes(nameOf(item)));
}

function wantedFrom(argv: string[]): Wanted {
  const options = {
    scenario: { type: 'string', multiple: true, default: [] as string[] },
    watch: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    'write-docs': { type: 'boolean', default: false },
  } as const;
  try {
    const { values, positionals } = parseArgs({ args: argv, options, allowPositionals: true });
    return {
      agents: chosen(REHEARSED, positionals, (agent) => agent.id),
      by_name: positionals.length > 0,
      scenarios: chosen(SCENARIOS, values.scenario, (scenario) => scenario.name),
      watch: values.watch,
      keep: values.keep,
      json: values.json,
      write_docs: values['write-docs'],
    };
  } catch (cause) {
    throw cause instanceof Stop ? cause : new Stop(2, (cause as Error).message);
  }
}

async function playOne(rehearsal: Rehearsal): Promise<Result> {
  const { agent, scenario, keep } = rehearsal;
  const { version } = agent.package;
  const result = { agent: agent.id, version, scenario: scenario.name, duration_ms: 0, room: null };
  const no_input = scenario.talk !== undefined && agent.takes_input !== true;
  const reason = no_input ? 'it accepts no input while it runs' : agent.without[scenario.name];
  if (reason !== undefined) return { ...result, outcome: 'left_out', reasons: [reason] };
  const { observed, room } = await rehearse(rehearsal);
  const expect = { ...scenario.expect, ...agent.differs[scenario.name] };
  const reasons = typeof observed === 'string' ? [observed] : judge(scenario, expect, observed);
  return {
    ...result,
    outcome: reasons.length === 0 ? 'passed' : 'failed',
    reasons,
    duration_ms: typeof observed === 'string' ? 0 : observed.report.duration_ms,
    room: keep ? room : null,
  };
}

/** Results in the order of the rehearsals, which are played a few at a time. */
async function playAll(rehearsals: readonly Rehearsal[], say: Say): Promise<Result[]> {
  const results: Result[] = [];
  const waiting = rehearsals.entries();
  const player = async () => {
    for (const [place, rehearsal] of waiting) {
      const result = await playOne(rehearsal);
      if (rehearsal.stop.aborted) throw new Stop(130, 'interrupted');
      results[place] = result;
      const { outcome, reasons } = result;
      const verdict = outcome === 'left_out' ? `skipped: ${reasons[0]}` : outcome;
      say(`${titleOf(result)} ${result.scenario}: ${verdict}`);
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, player));
  return results;
}

async function prepare(stop: AbortSignal, say: Say): Promise<void> {
  const why = await whyNoSandbox(stop);
  if (why !== null) {
    say(why);
    throw new Stop(3, 'skipped: no network namespaces available');
  }
  for (const part of ['bin/tacho.cjs', 'dist']) {
    if (!existsSync(join(PROJECT, part))) {
      throw new Stop(3, `skipped: ${part} is missing: run npm run build`);
    }
  }
}

function writeDocs(results: readonly Result[]): void {
  const before = JSON.parse(readFileSync(RESULTS, 'utf8')) as Kept[];
  const kept = withResults(before, results, {
    pins: REHEARSED,
    scenarios: [...SCENARIOS.map(({ name }) => name), ...WATCHED],
    date: new Date().toISOString().slice(0, 10),
  });
  writeFileSync(RESULTS, `${JSON.stringify(kept, null, 2)}\n`);
  writeFileSync(DOCS, rehearsalPage(kept, readFileSync(DOCS, 'utf8')));
  writeFileSync(MODULE, rehearsalsModule(kept));
}

type OnMachine = { agent: Rehearsed; at: Installed };

async function installedFor(wanted: Wanted, say: Say): Promise<OnMachine[]> {
  const found: OnMachine[] = [];
  for (const agent of wanted.agents) {
    const at = await install(agent.id, agent.package, say).catch((cause: Error) => {
      if (wanted.by_name) throw new Stop(3, `skipped: ${cause.message}`);
      say(`${agent.id}: skipped: ${cause.message}`);
      return null;
    });
    if (at !== null) found.push({ agent, at });
  }
  if (found.length === 0) throw new Stop(3, 'skipped: no agent could be installed here');
  return found;
}

async function watchAll(wanted: Wanted, stop: AbortSignal, say: Say): Promise<Result[]> {
  const all = await installedFor(wanted, say);
  // Versions of one agent have the same program and the same folders: the first is used.
  const installed = all.filter(
    ({ agent }, place) =>
      agent.id !== 'acp' && all.findIndex((one) => one.agent.id === agent.id) === place,
  );
  const { keep } = wanted;
  const watched = await rehearseWatch({ installed, project: PROJECT, keep, stop });
  if (typeof watched === 'string') throw new Stop(1, watched);
  say(watched.figures);
  return watched.results;
}

async function recordAll(wanted: Wanted, stop: AbortSignal, say: Say): Promise<Result[]> {
  const { keep, scenarios } = wanted;
  const all = await installedFor(wanted, say);
  const rehearsals = all.flatMap(({ agent, at }) =>
    scenarios.map((scenario) => ({ agent, scenario, installed: at, project: PROJECT, keep, stop })),
  );
  return playAll(rehearsals, say);
}

async function main(argv: string[]): Promise<number> {
  const say: Say = (line) => process.stderr.write(`${line}\n`);
  const interruption = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => interruption.abort());
  if (argv.includes('--help') || argv.includes('-h')) {
    process.stdout.write(HELP);
    return 0;
  }
  try {
    const wanted = wantedFrom(argv);
    await prepare(interruption.signal, say);
    const play = wanted.watch ? watchAll : recordAll;
    const results = await play(wanted, interruption.signal, say);
    process.stdout.write(
      wanted.json ? `${JSON.stringify(results, null, 2)}\n` : `\n${terminalTable(results)}`,
    );
    if (wanted.write_docs) writeDocs(results);
    return results.some((result) => result.outcome === 'failed') ? 1 : 0;
  } catch (cause) {
    if (!(cause instanceof Stop)) throw cause;
    say(`rehearse: ${cause.message}`);
    return cause.code;
  }
}

process.exitCode = await main(process.argv.slice(2));
