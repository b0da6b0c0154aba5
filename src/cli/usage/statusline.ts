/**
 * `tacho usage --statusline`: one line for prompts and status lines of agents. Contract: it exits with 0, changes nothing
 * in the store, and does not wait for input.
 */
import { fstatSync } from 'node:fs';
import { type StatusUsage, statusUsage } from '../../app/usage/status-usage.ts';
import { createColours } from '../../lib/colours.ts';
import { countText } from '../../lib/figures.ts';
import type { UsageSums } from '../../projections/usage/usage-report.ts';
import type { Io } from '../command.ts';
import { statePath } from '../state.ts';
import { amountText, unknownPart } from './amounts.ts';

/** An agent writes its JSON at once. A pipe may also stay open without any. */
const INPUT_WAIT_MS = 200;
const INPUT_CHARS_MAX = 1_000_000;

export async function statusline(io: Io): Promise<number> {
  try {
    const input = sessionOf(await readInput());
    const found = statusUsage(await statePath(io), Date.now(), input.session_id);
    const text = statusText(found, input.cost, io);
    if (text !== '') await io.out.write(`${text}\n`);
  } catch (error) {
    const [line = ''] = (error as Error).message.split('\n');
    await io.out.write(`tacho: ${line}\n`);
  }
  return 0;
}

/** The session and its cost in dollars, as the agent reports them. Null: not reported. */
interface Session {
  session_id: string | null;
  cost: number | null;
}

function sessionOf(input: unknown): Session {
  const { session_id, cost } = (input ?? {}) as { session_id?: unknown; cost?: unknown };
  const { total_cost_usd: usd } = (cost ?? {}) as { total_cost_usd?: unknown };
  return {
    session_id: typeof session_id === 'string' && session_id !== '' ? session_id : null,
    cost: typeof usd === 'number' && Number.isFinite(usd) ? usd : null,
  };
}

/** JSON from standard input. Null: there is none, or it is not complete in time. */
async function readInput(): Promise<unknown> {
  // A terminal, or /dev/null.
  if (fstatSync(0).isCharacterDevice()) return null;
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const timer = setTimeout(() => resolve(null), INPUT_WAIT_MS);
  let text = '';
  process.stdin
    .setEncoding('utf8')
    .on('data', (piece: string) => {
      text += piece;
      const found = parsed(text);
      if (found !== undefined || text.length > INPUT_CHARS_MAX) resolve(found ?? null);
    })
    .on('end', () => resolve(null))
    .on('error', () => resolve(null));
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    process.stdin.destroy();
  }
}

/** Undefined: not complete. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function statusText(
  found: StatusUsage | null,
  session_cost: number | null,
  io: Pick<Io, 'colour'>,
): string {
  const { bold, dim } = createColours(io.colour);
  const parts: string[] = [];
  if (found !== null) parts.push(`${dim('today')} ${sumText(found.today, bold)}`);
  const session = found?.session ?? null;
  const reported =
    session_cost === null ? null : { cost: session_cost, cost_computed: 0, cost_unknown_runs: 0 };
  if (session !== null)
    parts.push(`${dim('session')} ${sumText({ ...session, ...reported }, bold)}`);
  else if (reported !== null) parts.push(`${dim('session')} ${bold(amountText(reported))}`);
  return parts.join(dim(' | '));
}

function sumText(sums: UsageSums, bold: (text: string) => string): string {
  if (sums.runs === 0) return 'no usage';
  const amount = sums.cost === null ? 'cost unknown' : amountText(sums);
  const tokens = sums.tokens_total === null ? '' : `, ${countText(sums.tokens_total)} tokens`;
  return `${bold(amount)}${unknownPart(sums)}${tokens}`;
}
