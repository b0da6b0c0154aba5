/** The repeats of a test compared with each other, for people. */
import type { RepeatReport, TestSummary } from '../../evals/results.ts';
import { costText, durationText, plural } from '../../lib/figures.ts';
import { shortRunIds } from '../../lib/ids.ts';
import { oneLine } from '../../lib/terminal-text.ts';
import type { Spread } from '../../model/comparison.ts';
import type { Io } from '../command.ts';

const WAYS_SHOWN = 5;
const CALLS_SHOWN = 3;
const LINE_COLUMNS = 92;

/** `cost $0.0101 to $0.0304 (median $0.0203)`. */
function spreadText(name: string, { min, median, max }: Spread, text: (figure: number) => string) {
  if (min === null || median === null || max === null) return `${name} unknown`;
  return min === max
    ? `${name} ${text(min)}`
    : `${name} ${text(min)} to ${text(max)} (median ${text(median)})`;
}

export function repeatLines({ repeats, runs }: TestSummary, io: Io): string[] {
  if (repeats === null) return [];
  const names = namesOf(repeats);
  const { compared, medoid, shared_calls, parts_after, ways, spread } = repeats;
  const some = compared < runs.length ? `${compared} of them compared: ` : '';
  const where =
    parts_after === null
      ? 'and do not part'
      : `and part after ${parts_after === 0 ? 'the start' : `shared call ${parts_after}`}`;
  const nearest = medoid === null ? '' : `; medoid ${names.get(medoid)}`;
  const lines = [
    `${some}the runs share ${plural(shared_calls, 'call')} ${where}${nearest}`,
    ...ways.slice(0, WAYS_SHOWN).map(({ run_ids, count, calls }) => {
      const shown = calls.slice(0, CALLS_SHOWN);
      const more = count - shown.length;
      const text = [...shown, ...(more > 0 ? [`${more} more`] : [])].join('; ');
      return `  ${run_ids.map((id) => names.get(id)).join(', ')}: ${text === '' ? 'no call' : text}`;
    }),
    ...(ways.length > WAYS_SHOWN ? [`  and ${ways.length - WAYS_SHOWN} other ways`] : []),
    `${spreadText('cost', spread.cost_usd, costText)}, ${spreadText('time', spread.duration_ms, durationText)}`,
  ];
  return lines.map((line) =>
    line.replace(
      /^( *)(.*)$/s,
      (_, indent: string, rest: string) =>
        indent + oneLine(rest, Math.max(20, (io.out_is_terminal ? io.width : LINE_COLUMNS) - 8)),
    ),
  );
}

function namesOf({ ways, medoid }: RepeatReport): ReadonlyMap<string, string> {
  const ids = [
    ...new Set([...ways.flatMap(({ run_ids }) => run_ids), ...(medoid === null ? [] : [medoid])]),
  ];
  const short = shortRunIds(ids);
  return new Map(ids.map((id, at) => [id, short[at] as string]));
}
