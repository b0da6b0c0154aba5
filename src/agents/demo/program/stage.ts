/** What a play goes on with: where it writes, how it waits, what it counts, and how it ends. */
import { setTimeout as wait } from 'node:timers/promises';
import type { ApproveMode } from '../../../model/words.ts';
import type { EndReason } from '../native.ts';
import type { Output } from './output.ts';

export interface Stage {
  readonly output: Output;
  readonly cwd: string;
  readonly prompt: string;
  readonly model: string;
  readonly approve: ApproveMode;
  /** Whether text is shown in pieces where the script does not say. */
  readonly stream: boolean;
  /** 1: as written; 2: twice as fast; 0: without pauses. */
  readonly speed: number;
  /** Makes ids differ from those of earlier runs of the session. */
  readonly id_suffix: string;
  turns: number;
  calls: number;
  /** The root agent's turn that is being played. */
  turn_id: string | null;
  /** Background commands that still run: each says its late word when awaited. */
  readonly background: (() => Promise<void>)[];
}

/** Ends the play from anywhere. */
export class Ending extends Error {
  readonly exit_code: number;

  constructor(exit_code: number) {
    super('the play has ended');
    this.exit_code = exit_code;
  }
}

/** The agent's own end record; then nothing more. */
export function finish(
  stage: Stage,
  reason: EndReason,
  error: string | null = null,
  exit_code = reason === 'ok' ? 0 : 1,
): never {
  stage.output.emit({ t: 'end', reason, error, turns: stage.turns });
  throw new Ending(exit_code);
}

export async function pause(stage: Stage, ms: number): Promise<void> {
  if (stage.speed > 0 && ms > 0) await wait(ms / stage.speed);
}

const SHORT_CHARS = 80;

/** `{{prompt}}` is the whole prompt, `{{prompt_start}}` its first line, cut short. */
export function fill(stage: Stage, text: string): string {
  if (!text.includes('{{')) return text;
  const first = stage.prompt.trimStart().split('\n', 1)[0] ?? '';
  const start = first.length > SHORT_CHARS ? `${first.slice(0, SHORT_CHARS)}…` : first;
  return text
    .replaceAll('{{prompt_start}}', () => start)
    .replaceAll('{{prompt}}', () => stage.prompt);
}

/** The same for every text in a value. */
export function fillAll(stage: Stage, value: unknown): unknown {
  if (typeof value === 'string') return fill(stage, value);
  if (Array.isArray(value)) return value.map((item) => fillAll(stage, item));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(
    ([name, item]) => [name, fillAll(stage, item)] as const,
  );
  return Object.fromEntries(entries);
}
