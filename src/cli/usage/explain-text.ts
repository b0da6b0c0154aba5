/** The records behind the figures of usage, for people: the table, then each run with its lines and costs. */
import type {
  ExplainedCost,
  ExplainedLine,
  ExplainedRun,
  ExplainedUsage,
} from '../../app/usage/explained.ts';
import { plural } from '../../lib/figures.ts';
import { shortRunIds } from '../../lib/ids.ts';
import { localMinute } from '../../lib/local-time.ts';
import { oneLine, wrapLines } from '../../lib/terminal-text.ts';
import type { Usage } from '../../model/parts.ts';
import { type UsageStyle, usageText } from './text.ts';

const NAMES: Readonly<Record<keyof Usage, string>> = {
  input: 'in',
  output: 'out',
  cache_read: 'cache read',
  cache_write: 'cache written',
  reasoning: 'reasoning',
};
/** Reasoning is usually a part of the output. */
const KINDS = ['input', 'output', 'cache_read', 'cache_write'] as const;

export function explainText({ report, runs, prices }: ExplainedUsage, style: UsageStyle): string {
  const ids = shortRunIds(runs.map(({ run_id }) => run_id));
  const parts = runs.map((run, at) => runLines(run, ids[at] as string, style));
  const { name, version, date, own } = prices;
  const mine = own === 0 ? '' : `, after ${plural(own, 'price')} in your tacho.yaml`;
  const list = `Prices: ${name} ${version} of ${date}${mine}, in dollars per million tokens.\n`;
  const texts = parts.map((lines) => `${lines.join('\n')}\n`);
  return [usageText(report, style), ...texts, list].join('\n');
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

/** `session line 12, byte 3456 (event 7)  2026-11-18 09:13  opus-5: 12 in, 345 out`. */
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
  const parts = KINDS.flatMap((kind) =>
    tokens[kind] === null ? [] : [`${exact(tokens[kind])} ${NAMES[kind]}`],
  );
  if (cost_usd !== null) parts.push(`$${rounded(cost_usd)}`);
  return parts.length === 0 ? 'no figures' : parts.join(', ');
}

const exact = (count: number | null) => (count ?? 0).toLocaleString('en-US');

/** `cost of opus-5: 12 in x $5 + 345 out x $25 per million = ~$0.0087`. */
function costLine({ model, tokens, cost, source, terms }: ExplainedCost): string {
  const who = `cost of ${model ?? 'unknown model'}`;
  if (source === 'elsewhere') return `${who}: in the one cost that the agent reported for the run`;
  if (cost === null) return `${who}: unknown (${figuresText({ tokens, cost_usd: null })})`;
  if (source === 'agent') return `${who}: $${rounded(cost)}, reported by the agent`;
  const products = terms.map(
    (term) => `${exact(term.tokens)} ${NAMES[term.kind]} x $${term.usd_per_million}`,
  );
  const sum = products.length === 0 ? 'no tokens' : `${products.join(' + ')} per million`;
  return `${who}: ${sum} = ~$${rounded(cost)}`;
}

/** Sums of dollars are not exact. */
const rounded = (usd: number) => Number(usd.toFixed(9));
