/** Whether the entries of a run are all of it. gc asks before it archives a run, restore before it takes one back. */
import { isRunId } from '../../lib/ids.ts';
import { CONFLICT } from '../../store/index/catalogue.ts';
import { CAPTURE_SOURCE } from '../run/recorder.ts';
import { eventIn } from './journal-events.ts';

export class WholeRun {
  /** How many entries there were. */
  entries = 0;
  readonly #run_id: string;
  #last = 0;
  #ended = false;
  #fault: string | null;

  constructor(run_id: string) {
    this.#run_id = run_id;
    this.#fault = isRunId(run_id) ? null : 'holds it under a name that is no run id';
  }

  /** Entries come in the order of their numbers, each once; `source` as a sift gives it. */
  push({ source, seq, body }: { source: string; seq: number; body: string }): void {
    this.entries += 1;
    this.#fault ??= this.#look(source, seq, body);
  }

  /** What is wrong with it, to follow "the archive" or "the journal"; null: it is whole. */
  fault(): string | null {
    return this.#fault ?? (this.#ended ? null : 'holds no end of it');
  }

  #look(source: string, seq: number, body: string): string | null {
    if (source === CONFLICT + CAPTURE_SOURCE)
      return seq > this.#last ? `holds a conflict with entry ${seq}, which it lacks` : null;
    if (source !== CAPTURE_SOURCE) return `holds an entry of the source ${source}, not of a run`;
    if (seq > this.#last + 1) return `lacks entry ${this.#last + 1} of it`;
    this.#last = seq;
    const event = eventIn(body, this.#run_id);
    if (event === null) return `holds an entry ${seq} that is no event of it`;
    this.#ended = event.kind === 'run_finished';
    return null;
  }
}
