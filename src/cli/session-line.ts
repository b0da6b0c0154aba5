/** A session file that was imported, for people. */
import type { Imported } from '../app/sessions/imported.ts';
import type { Stated } from '../app/watch/run-states.ts';
import { shortRunId } from '../lib/ids.ts';
import { localMinute } from '../lib/local-time.ts';
import { forTerminal, oneLine } from '../lib/terminal-text.ts';

export type Kind = Exclude<Imported['state'], 'imported'> | 'new';

/** In listing order. */
export const WORDS: Readonly<Record<Kind, string>> = {
  new: 'new',
  grown: 'grown',
  known: 'unchanged',
  recorded: 'recorded by tacho before',
  shared: 'copied from other sessions',
  older: 'older than the stored run',
  deleted: 'deleted before',
  excluded: 'excluded',
  empty: 'empty',
  failed: 'not readable',
};

export const kindOf = ({ state }: Imported): Kind => (state === 'imported' ? 'new' : state);

export const PROMPT_CHARS = 60;
const KIND_COLUMNS = 10;

/** One session on one line. */
export function sessionText(imported: Imported): string {
  const { run_id, agent, path, started_ms, prompt } = imported;
  const cells = [
    WORDS[kindOf(imported)].padEnd(KIND_COLUMNS),
    (run_id === null ? '' : shortRunId(run_id)).padEnd(10),
    (localMinute(started_ms) ?? '').padEnd(16),
    agent.padEnd(8),
    prompt === null ? '' : `${oneLine(prompt, PROMPT_CHARS)}  `,
  ];
  return `${cells.join(' ')}${forTerminal(path)}\n`;
}

/** The new state of a run on one line. */
export function stateText({ run_id, agent, prompt, unfinished }: Stated): string {
  const cells = [
    (unfinished?.state ?? 'finished').padEnd(KIND_COLUMNS),
    shortRunId(run_id).padEnd(10),
    (localMinute(unfinished?.since_ms ?? null) ?? '').padEnd(16),
    agent.padEnd(8),
    prompt === null ? '' : `${oneLine(prompt, PROMPT_CHARS)}  `,
  ];
  return `${cells.join(' ')}${forTerminal(unfinished?.reason ?? '')}`.trimEnd().concat('\n');
}
