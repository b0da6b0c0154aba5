/** Results of a search, for people: a line per run, and its hits with the matches marked. */
import { projectName } from '../../app/runs/projects.ts';
import type { SearchHit, SearchPage } from '../../app/search/search.ts';
import { plural } from '../../lib/figures.ts';
import { shortRunIds } from '../../lib/ids.ts';
import { localMinute } from '../../lib/local-time.ts';
import { forTerminal, oneLine } from '../../lib/terminal-text.ts';
import type { HumanStyle } from '../../projections/human-parts.ts';

/** Around a match where there are no colours. */
const MARKS = ['**', '**'] as const;
const SEQ_COLUMNS = 6;
const KIND_COLUMNS = 18;
const SNIPPET_LEAST = 30;

/** `width`: null for a pipe, where nothing is cut. */
export function hitsText({ hits }: SearchPage, style: HumanStyle, width: number | null): string {
  const runs = Map.groupBy(hits, ({ run_id }) => run_id);
  const names = shortRunIds([...runs.keys()]);
  return [...runs.values()]
    .map((own, at) => runText(own, names[at] as string, style, width))
    .join('');
}

function runText(
  hits: readonly SearchHit[],
  name: string,
  style: HumanStyle,
  width: number | null,
): string {
  const [first] = hits as [SearchHit, ...SearchHit[]];
  const { started_ms, agent, project, exit_reason, run_hits } = first;
  const facts = [
    localMinute(started_ms) ?? 'unknown time',
    agent,
    project === null ? null : projectName(project),
    exit_reason ?? 'unfinished',
  ].filter((fact) => fact !== null);
  const head = `${style.colour.cyan(name)}  ${style.colour.dim(forTerminal(facts.join('  ')))}\n`;
  const more = run_hits - hits.length;
  const rest =
    more > 0
      ? `${' '.repeat(SEQ_COLUMNS + 2)}${style.colour.dim(`and ${plural(more, 'more hit')}`)}\n`
      : '';
  return `${head}${hits.map((hit) => hitText(hit, style, width)).join('')}${rest}`;
}

function hitText(hit: SearchHit, style: HumanStyle, width: number | null): string {
  const kind = hit.tool === null ? hit.kind : `${hit.kind} ${hit.tool}`;
  const label = `${String(hit.seq).padStart(SEQ_COLUMNS)}  ${oneLine(kind, 40).padEnd(KIND_COLUMNS)}  `;
  const room =
    width === null ? Number.MAX_SAFE_INTEGER : Math.max(SNIPPET_LEAST, width - label.length);
  return `${style.colour.dim(label)}${marked(hit, style, room)}\n`.replace(/ +\n$/, '\n');
}

/** The snippet in at most this many columns: its beginning is cut if the first match would not be visible. */
function marked({ snippet }: SearchHit, { colour }: HumanStyle, room: number): string {
  const paint = colour.bold('') === '' ? (text: string) => MARKS[0] + text + MARKS[1] : colour.bold;
  const [first = [0, 0]] = snippet.marks;
  const from = first[1] > room ? first[0] - Math.floor(room / 3) : 0;
  const to = Math.min(snippet.text.length, from + room);
  let text = '';
  let at = from;
  for (const [start, end] of snippet.marks) {
    if (start >= to) break;
    text +=
      plain(snippet.text.slice(at, start)) +
      paint(plain(snippet.text.slice(start, Math.min(end, to))));
    at = end;
  }
  return text + plain(snippet.text.slice(at, to));
}

/** Escaped, on one line. */
const plain = (text: string) => forTerminal(text).replace(/\s+/g, ' ');

/** Totals, and how to read on. */
export function endText(page: SearchPage, shown: number, sort: SearchHit['kind']): string {
  const { total_runs, total_hits, exact, cursor, cut_runs } = page;
  if (shown === 0) return 'Nothing found.\n';
  const least = exact ? '' : 'at least ';
  const lines = [
    '',
    `${least}${plural(total_hits, 'hit')} in ${least === '' ? '' : 'at least '}${plural(total_runs, 'run')}${
      cursor === null ? '' : `, ${shown} shown; --limit all shows every run`
    }`,
    'tacho show RUN --at seq:N opens a run at an event',
  ];
  if (!exact && sort === 'relevance')
    lines.push('Only the newest hits are ranked; --sort time lists all of them.');
  if (cut_runs > 0)
    lines.push(
      `In ${plural(cut_runs, 'run')}, very long texts, encoded data and the ids in logs are searched only in part.`,
    );
  return `${lines.join('\n')}\n`;
}
