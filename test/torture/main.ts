/**
 * `npm run torture`: kills commands and fails their file operations one by one, and tries mutated input, in turns, until
 * the time is up. Exit code 1 when a fault was found.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import buildChaosAgent from '../chaos-agent.ts';
import { type Case, caseNamed, type Kind, nameOf, Player, SCENARIOS, WAYS } from './cases.ts';
import { endFuzzers, type Finding, fuzz } from './fuzz-process.ts';
import { TORTURE_FOLDER, whyNoInjection } from './inject.ts';
import { closeLanes } from './lane.ts';
import { DEFAULT_SEED, Random, seedOf } from './random.ts';
import { closeKills } from './watch-kill.ts';
import { watchKills } from './watch-main.ts';

const HELP = `npm run torture -- [options]

  --minutes N   stop after N minutes (default: 60)
  --only KIND   only cases of this kind: kill, error or fuzz; or watch: a hundred kills of the watcher per agent
  --seed N      seed for the order of cases and for mutated input (default: ${DEFAULT_SEED})
  --case NAME   repeat one reported case: SCENARIO:MODE:N or fuzz:SEED:N
`;
const LANES = 2;
/** A fuzzer needs some set-up; shorter turns would do nothing else. */
const FUZZ_SECONDS = 20;
/** Time for cases with processes, between two turns of the fuzzer. */
const CASES_MS = 40_000;
const PROGRESS_MS = 30_000;

const KINDS = ['kill', 'error', 'fuzz'] as const;
type Part = (typeof KINDS)[number];

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    only: { type: 'string' },
    seed: { type: 'string', default: String(DEFAULT_SEED) },
    case: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
const seed = Number(values.seed);
const began = performance.now();
const end = began + Number(values.minutes) * 60_000;
const counts: Record<Part, number> = { kill: 0, error: 0, fuzz: 0 };
const reached = new Map<string, Set<number>>();
/** Grouped by their common text. */
const found = new Map<string, Finding[]>();

/** Without the parts that differ from case to case. */
const kindOf = (text: string) =>
  text
    .replaceAll(/r_[0-9a-z]{26}|[0-9a-z]{26}\.jsonl|tacho-torture-\w+|[\d.]+/g, '#')
    .replaceAll(/"[^"]*"/g, '"…"')
    .slice(0, 160);

function report(finding: Finding): void {
  const text = finding.faults.join('\n  ');
  const kind = kindOf(finding.faults[0] ?? '');
  const same = found.get(kind) ?? [];
  found.set(kind, [...same, finding]);
  if (same.length >= 3) return;
  console.log(`\nFOUND ${finding.name} (${finding.about})\n  ${text}`);
  console.log(`  repeat: npm run torture -- --case ${finding.name}`);
  const folder = join(TORTURE_FOLDER, 'findings');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${finding.name.replaceAll(':', '-')}.txt`), `${text}\n`);
}

/**
 * All cases of a kind, in an order that depends on the seed, and then all of them again. Cases that disturb an operation
 * of a new kind or path come first.
 */
async function* casesOf(kind: Kind, player: Player): AsyncGenerator<Case> {
  for (let round = 0; ; round++) {
    const all: { one: Case; operation: string }[] = [];
    for (const scenario of SCENARIOS)
      for (const way of WAYS[kind])
        for (const [n, operation] of (await player.operations(scenario, way)).entries())
          all.push({ one: { scenario: scenario.name, ...way, at: n + 1 }, operation });
    const shuffled = new Random(seedOf(seed, round)).shuffled(all);
    const seen = new Set<string>();
    const [first, rest]: [Case[], Case[]] = [[], []];
    for (const { one, operation } of shuffled) {
      const about = `${one.scenario} ${operation}`;
      (seen.has(about) ? rest : first).push(one);
      seen.add(about);
    }
    console.log(`${kind}: ${all.length} cases, ${first.length} different operations`);
    yield* [...first, ...rest];
  }
}

async function playCase(player: Player, one: Case): Promise<void> {
  const { faults, operation } = await player.play(one);
  const name = nameOf(one);
  const way = name.slice(0, name.lastIndexOf(':'));
  reached.set(way, (reached.get(way) ?? new Set()).add(one.at));
  if (faults.length > 0) report({ name, about: operation ?? 'nothing was disturbed', faults });
}

/** The next case of each kind, shared by all lanes. */
type Sources = Record<Kind, AsyncGenerator<Case>>;

const wanted = (part: Part) => values.only === undefined || values.only === part;
const over = () => performance.now() >= end;
let fuzz_turn = 0;

async function lane(player: Player, sources: Sources): Promise<void> {
  while (!over()) {
    const until = performance.now() + CASES_MS;
    while (!over() && performance.now() < until && (wanted('kill') || wanted('error'))) {
      for (const kind of ['kill', 'error'] as const) {
        if (over() || !wanted(kind)) continue;
        const { value } = await sources[kind].next();
        await playCase(player, value as Case);
        counts[kind] += 1;
      }
    }
    if (over() || !wanted('fuzz')) continue;
    fuzz_turn += 1;
    const { findings, inputs } = await fuzz({
      seed: seedOf(seed, 1_000_000 + fuzz_turn),
      seconds: Math.min(FUZZ_SECONDS, (end - performance.now()) / 1000),
    });
    for (const finding of findings) report(finding);
    for (const count of Object.values(inputs)) counts.fuzz += count;
  }
}

const minutes = () => ((performance.now() - began) / 60_000).toFixed(1);

function progress(): string {
  const parts = KINDS.filter(wanted).map((part) => `${part} ${counts[part]}`);
  const findings = [...found.values()].reduce((sum, some) => sum + some.length, 0);
  return `${minutes()} min: ${parts.join(', ')}; findings: ${findings}`;
}

function summary(): number {
  console.log(`\n${progress()}`);
  for (const [way, numbers] of [...reached].sort())
    console.log(`  ${way.padEnd(36)} ${numbers.size} operations`);
  for (const [kind, some] of found)
    console.log(`\n${some.length} × ${kind}\n  first: npm run torture -- --case ${some[0]?.name}`);
  console.log(
    `\ntorture found ${found.size === 0 ? 'no faults' : `${found.size} kinds of faults`}`,
  );
  return found.size === 0 ? 0 : 1;
}

async function oneCase(name: string): Promise<number> {
  if (name.startsWith('fuzz:')) {
    const [, its_seed, from] = name.split(':').map(Number);
    const { findings } = await fuzz({ seed: its_seed as number, from: from as number, count: 1 });
    for (const finding of findings) report(finding);
    return findings.length > 0 ? 1 : 0;
  }
  const player = new Player();
  const { faults, operation, ran } = await player.play(caseNamed(name));
  console.log(`${name}: ${operation ?? 'nothing was disturbed'}`);
  console.log(
    `exit ${ran?.code ?? ran?.signal}\n--- stdout\n${ran?.stdout}--- stderr\n${ran?.stderr}---`,
  );
  console.log(faults.length === 0 ? 'no faults' : faults.join('\n'));
  player.close();
  return faults.length > 0 ? 1 : 0;
}

async function all(): Promise<number> {
  const why = whyNoInjection();
  if (why !== null && values.only !== 'fuzz') {
    console.error(`torture: cannot inject faults here: ${why}; try --only fuzz`);
    return 1;
  }
  const players = why === null ? Array.from({ length: LANES }, () => new Player()) : [];
  const first = players[0] as Player;
  const sources = { kill: casesOf('kill', first), error: casesOf('error', first) };
  // Counted before the lanes start, because the first player must be idle.
  for (const kind of ['kill', 'error'] as const) if (wanted(kind)) await warm(sources, kind);
  const timer = setInterval(() => console.log(progress()), PROGRESS_MS);
  await Promise.all(
    (why === null ? players : [first, first]).map((player) => lane(player, sources)),
  );
  clearInterval(timer);
  for (const player of players) player.close();
  return summary();
}

/** Requests the first case and returns it. */
async function warm(sources: Sources, kind: Kind): Promise<void> {
  const { value } = await sources[kind].next();
  const rest = sources[kind];
  sources[kind] = (async function* () {
    yield value as Case;
    yield* rest;
  })();
}

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    endFuzzers();
    closeLanes();
    closeKills();
    summary();
    console.log('stopped before the time was up');
    process.exit(1);
  });

if (values.help) console.log(HELP);
else if (values.only === 'watch') process.exitCode = await watchKills(seed);
else {
  await buildChaosAgent();
  process.exitCode = values.case === undefined ? await all() : await oneCase(values.case);
}
