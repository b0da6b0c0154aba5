/** The records behind the figures of usage, for people: the table, then each run with its lines and costs. */
import type {
  ExplainedCost,
  ExplainedLine,
  ExplainedRun,
  ExplainedUsage,
} from '../../app/usage/explained.ts';
import { shortRunIds } from '../../lib/ids.ts';
import { localMinute } from '../../lib/local-time.ts';
import { oneLine, wrapLines } from '../../lib/terminal-text.ts';
import type { Usage } from '../../model/parts.ts';
import { amountText } from './amounts.ts';
import { type UsageStyle, usageText } from './text.ts';

const KINDS: readonly (readonly [keyof Usage, string])[] = [
  ['input', 'in'],
  ['output', 'out'],
  ['cache_read', 'cache read'],
  ['cache_write', 'cache written'],
];

export function explainText({ report, runs }: ExplainedUsage, style: UsageStyle): string {
  const ids = shortRunIds(runs.map(({ run_id }) => run_id));
  const parts = runs.map((run, at) => runLines(run, ids[at] as string, style));
  return [usageText(report, style), ...parts.map((lines) => `${lines.join('\n')}\n`)].join('\n');
}

function runLines(run: ExplainedRun, id: string, style: UsageStyle): string[] {
  const { agent, project, file, path, lines, finished, success } = run;
  const { bold, dim } = style.colour;
  const state = finished ? (success ? 'ok' : 'failed') : 'not finished';
  const source = path ?? file;
  const indent = (text: string) => wrapped(text, style);
  return [
    bold(whole(`${id}  ${agent}  ${project ?? 'unknown project'}  ${state}`, style)),
    ...(source === null ? [] : indent(dim(whole(`session file ${source}`, style)))),
    ...lines.flatMap((line) => indent(lineText(line))),
    ...run.costs.flatMap((cost) => indent(costLine(cost))),
  ];
}

/** Cut to the terminal; whole in a pipe. */
const whole = (text: string, { columns }: UsageStyle) =>
  oneLine(text, (columns ?? Number.POSITIVE_INFINITY) - 2);

function wrapped(text: string, { columns }: UsageStyle): string[] {
  if (columns === null) return [`  ${text}`];
  const [first = '', ...more] = wrapLines(text, columns - 6);
  return [`  ${first}`, ...more.map((line) => `      ${line}`)];
}

/** `session line 12, byte 3456 (event 7)  2026-11-18 09:13  claude-opus-5-5: adds 12 in, 345 out`. */
function lineText(line: ExplainedLine): string {
  const { at_ms, model, sub_agent, mode, reported, added } = line;
  const who = `${model ?? 'unknown model'}${sub_agent ? ' (sub-agent)' : ''}`;
  const figures = figuresText(added);
  const said = reported === null ? '' : figuresText(reported);
  const effect =
    mode === 'total' && said !== figures ? `total ${said}, which adds ${figures}` : figures;
  return `${placeText(line)}  ${localMinute(at_ms) ?? 'unknown time'}  ${who}: ${effect}`;
}

function placeText({ raw, seq }: ExplainedLine): string {
  const event = seq === null ? 'end of the record' : `event ${seq}`;
  if (raw === null) return event;
  const { channel, file, line, offset } = raw;
  return `${channel}${file === undefined ? '' : ` ${file}`} line ${line}, byte ${offset} (${event})`;
}

function figuresText({ tokens, cost_usd }: ExplainedLine['added']): string {
  const parts = KINDS.flatMap(([kind, name]) =>
    tokens[kind] === null ? [] : [`${exact(tokens[kind])} ${name}`],
  );
  if (cost_usd !== null) parts.push(`$${cost_usd}`);
  return parts.length === 0 ? 'no figures' : parts.join(', ');
}

const exact = (count: number | null) => (count ?? 0).toLocaleString('en-US');

function costLine({ model, tokens, cost, source }: ExplainedCost): string {
  const who = model ?? 'unknown model';
  const figures = figuresText({ tokens, cost_usd: null });
  if (cost === null) return `cost of ${who}: unknown (${figures})`;
  const by = source === 'agent' ? 'reported by the agent' : 'computed';
  return `cost of ${who}: ${amountText({ cost, cost_computed: source === 'computed' ? cost : 0 })} ${by} (${figures})`;
}
