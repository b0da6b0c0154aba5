/** Benchmarks of the store with references: durable appends, outcomes, opening a large state folder. */
import { type ExecFileSyncOptionsWithStringEncoding, execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { Row } from './measure.ts';

interface Figure {
  name: string;
  value: number;
  unit: string;
  reference: number;
  ratio: number;
}

const PROGRAMS = ['journal.ts', 'outcomes.ts'];

/** Name and target of each figure. */
const TARGETS: Record<string, { name: string; target: string; ok: (value: number) => boolean }> = {
  journal_durable_appends: {
    name: 'durable journal, 950-byte events, 512 in flight, vs. one fdatasync per event',
    target: '≥ 10,000 events/s',
    ok: (value) => value >= 10_000,
  },
  outcomes_10000_written: {
    name: '10,000 outcomes into the index, vs. bare SQLite inserts of the same texts',
    target: '< 1 s',
    ok: (value) => value < 1000,
  },
  state_of_1000000_events_opened: {
    name: 'a state folder with 1,000,000 events opened, vs. reading its journal once',
    target: '< 1 s',
    ok: (value) => value < 1000,
  },
};

export function run(): Row[] {
  return PROGRAMS.flatMap((program) => {
    const options = {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    } satisfies ExecFileSyncOptionsWithStringEncoding;
    const text = execFileSync(process.execPath, [join(import.meta.dirname, program)], options);
    return text
      .trim()
      .split('\n')
      .map((line) => rowOf(JSON.parse(line) as Figure));
  });
}

function rowOf({ name, value, unit, reference, ratio }: Figure): Row {
  const known = TARGETS[name];
  const figure = (number: number) => `${number.toLocaleString('en')} ${unit}`;
  return {
    name: known?.name ?? name,
    value: figure(value),
    reference: figure(reference),
    ratio,
    target: known?.target ?? null,
    ok: known === undefined ? null : known.ok(value),
  };
}
