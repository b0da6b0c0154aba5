/** The result of an import, for people. */
import type { Imported } from '../../app/sessions/imported.ts';
import { shortRunId } from '../../lib/ids.ts';
import { localTime } from '../../lib/local-time.ts';
import { oneLine } from '../../lib/terminal-text.ts';
import { type Kind, kindOf, PROMPT_CHARS, WORDS } from '../session-line.ts';

/** Counts of sessions by agent and of projects, and the session itself if there is only one. */
export class Tally {
  readonly #by_agent = new Map<string, Map<Kind, number>>();
  readonly #projects = new Set<string>();
  #sessions = 0;
  #stored: Imported[] = [];

  add(imported: Imported): void {
    const kind = kindOf(imported);
    const counts = this.#by_agent.get(imported.agent) ?? new Map<Kind, number>();
    this.#by_agent.set(imported.agent, counts.set(kind, (counts.get(kind) ?? 0) + 1));
    this.#sessions += 1;
    if (imported.project !== null) this.#projects.add(imported.project);
    if (imported.run_id !== null && this.#stored.length < 2) this.#stored.push(imported);
  }

  get failed(): boolean {
    return this.#by_agent.values().some((counts) => counts.has('failed'));
  }

  text(): string {
    if (this.#sessions === 0) return 'No sessions found.\n';
    const agents = [...this.#by_agent].sort(([a], [b]) => (a < b ? -1 : 1));
    if (agents.length > 1) agents.push(['all', sumOf(this.#by_agent.values())]);
    const lines = agents.map(([agent, counts]) => `${agent.padEnd(8)}  ${countsText(counts)}`);
    return `${lines.join('\n')}\n${this.#next()}`;
  }

  /** How to read the imported runs. */
  #next(): string {
    const [one, another] = this.#stored;
    if (one === undefined) return '';
    const { size } = this.#projects;
    const from = size < 2 ? '' : `The new runs are from ${size} projects. `;
    if (another !== undefined) return `\n${from}List the runs: tacho runs list\n`;
    const { run_id, started_ms, prompt } = one;
    const what = [localTime(started_ms), prompt === null ? null : oneLine(prompt, PROMPT_CHARS)];
    const about = what.filter((part) => part !== null).join('  ');
    return `\n${about === '' ? '' : `${about}\n`}Read it: tacho show ${shortRunId(run_id as string)}\n`;
  }
}

function sumOf(all: Iterable<ReadonlyMap<Kind, number>>): Map<Kind, number> {
  const sum = new Map<Kind, number>();
  for (const counts of all)
    for (const [kind, count] of counts) sum.set(kind, (sum.get(kind) ?? 0) + count);
  return sum;
}

function countsText(counts: ReadonlyMap<Kind, number>): string {
  return (Object.keys(WORDS) as Kind[])
    .filter((kind) => counts.has(kind))
    .map((kind) => `${counts.get(kind)} ${WORDS[kind]}`)
    .join(', ');
}
