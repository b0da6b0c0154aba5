/** All cases: each scenario with each kind of fault at each operation. */
import { ERRNOS, type Errno, type Injection, type Mode, operationsOf } from './inject.ts';
import { Lane, type Ran } from './lane.ts';
import type { Prepared, Scenario } from './scenario.ts';
import { EVAL_SCENARIOS } from './scenarios-eval.ts';
import { LIVE_SCENARIOS } from './scenarios-live.ts';
import { RUN_SCENARIOS } from './scenarios-run.ts';
import { STORE_SCENARIOS } from './scenarios-store.ts';

export const SCENARIOS: readonly Scenario[] = [
  ...RUN_SCENARIOS,
  ...STORE_SCENARIOS,
  ...LIVE_SCENARIOS,
  ...EVAL_SCENARIOS,
];

export type Way = Omit<Injection, 'at'>;
export type Kind = 'kill' | 'error';

const KILLS: readonly Way[] = [
  { mode: 'kill', errno: null },
  { mode: 'tear', errno: null },
];
const ERRORS: readonly Way[] = [
  ...ERRNOS.flatMap((errno) => (['once', 'on'] as const).map((mode) => ({ mode, errno }))),
  { mode: 'short', errno: null },
];
export const WAYS: Record<Kind, readonly Way[]> = { kill: KILLS, error: ERRORS };

export interface Case extends Injection {
  scenario: string;
}

export const nameOf = ({ scenario, mode, errno, at }: Case) =>
  `${scenario}:${mode}${errno === null ? '' : `-${errno}`}:${at}`;

export function caseNamed(name: string): Case {
  const [scenario = '', way = '', at = ''] = name.split(':');
  const [mode, errno = null] = way.split('-') as [Mode, Errno?];
  return { scenario, mode, errno, at: Number(at) };
}

export interface Played {
  faults: string[];
  /** The disturbed operation, as logged by the injector; null: the command had fewer. */
  operation: string | null;
  ran: Ran | null;
}

/** Ids, process numbers and the lane's folder. */
const DIFFERENT = /tacho-torture-\w+|[0-9a-z]{26}|\.new-[0-9a-f]+|[0-9a-f]{16}|[\d.]*\d/g;

/** Runs cases in its own lane, one at a time. */
export class Player {
  readonly lane = new Lane();
  readonly #prepared = new Map<string, Prepared>();
  /** Per scenario: its operations in order, kind and path. */
  readonly #operations = new Map<string, readonly string[]>();

  /** The operations of the scenario that this kind of fault applies to: kind and path, without variable parts. */
  async operations(scenario: Scenario, way: Way): Promise<string[]> {
    let lines = this.#operations.get(scenario.name);
    if (lines === undefined) {
      const prepared = await this.#load(scenario);
      await scenario.act(this.lane, { mode: 'count', errno: null, at: 0 }, prepared);
      lines = this.lane.operations().map((line) => line.replace(/^\d+ /, ''));
      await this.lane.settle();
      this.#operations.set(scenario.name, lines);
    }
    const counted = new Set(operationsOf(way).split(','));
    const found = lines.filter((line) => counted.has(line.split(' ', 1)[0] ?? ''));
    return found.map((line) => line.replaceAll(DIFFERENT, '#'));
  }

  async play(one: Case): Promise<Played> {
    const scenario = SCENARIOS.find(({ name }) => name === one.scenario);
    if (scenario === undefined) throw new Error(`no scenario named ${one.scenario}`);
    const prepared = await this.#load(scenario);
    const faults: string[] = [];
    let operation: string | null = null;
    let ran: Ran | null = null;
    try {
      ran = await scenario.act(this.lane, one, prepared);
      operation = this.lane.operations().find((line) => line.endsWith(' DISTURBED')) ?? null;
      for await (const fault of scenario.check(this.lane, prepared, ran, one)) faults.push(fault);
    } catch (error) {
      faults.push((error as Error).stack ?? String(error));
    } finally {
      this.lane.end();
    }
    return { faults, operation, ran };
  }

  async #load(scenario: Scenario): Promise<Prepared> {
    const known = this.#prepared.get(scenario.name);
    if (known !== undefined) {
      this.lane.load(scenario.name);
      return known;
    }
    this.lane.clear();
    const prepared = await scenario.prepare(this.lane);
    await this.lane.settle();
    this.lane.save(scenario.name);
    this.lane.load(scenario.name);
    this.#prepared.set(scenario.name, prepared);
    return prepared;
  }

  close(): void {
    this.lane.close();
  }
}
