/** Checks whether the entries of a run are complete: used by gc before it archives a run, and by restore before it stores one. */
import { isRunId } from '../../lib/ids.ts';
import { CAPTURE_SOURCE, CLOSING_SOURCE } from '../../model/words.ts';
import { CONFLICT } from '../../store/index/catalogue.ts';
import { eventIn } from './journal-events.ts';
import { Closing } from './run-entries.ts';

export class WholeRun {
  /** How many entries there were. */
  entries = 0;
  readonly #run_id: string;
  #last = 0;
  #ended = false;
  readonly #closing = new Closing();
  #fault: string | null;

  constructor(run_id: string) {
    this.#run_id = run_id;
    this.#fault = isRunId(run_id) ? null : 'has it under a name that is not a run id';
  }

  /** Entries in the order of their numbers, each once; `source` as returned by a sift. */
  push({ source, seq, body }: { source: string; seq: number; body: string }): void {
    this.entries += 1;
    this.#fault ??= this.#look(source, seq, body);
  }

  /** The fault, to follow "the archive" or "the journal", or null. */
  fault(): string | null {
    const ended = this.#ended || this.#closing.after(this.#last).length > 0;
    return this.#fault ?? (ended ? null : 'has no end of it');
  }

  #look(source: string, seq: number, body: string): string | null {
    if (source === CONFLICT + CAPTURE_SOURCE)
      return seq > this.#last ? `has a conflict with entry ${seq}, which it lacks` : null;
    if (source === CLOSING_SOURCE) {
      this.#closing.take({ seq, body });
      return null;
    }
    if (source !== CAPTURE_SOURCE) return `has an entry of the source ${source}, not of a run`;
    if (seq > this.#last + 1) return `lacks entry ${this.#last + 1} of it`;
    this.#last = seq;
    this.#closing.interrupt();
    const event = eventIn(body, this.#run_id);
    if (event === null) return `has an entry ${seq} that is not an event of it`;
    this.#ended = event.kind === 'run_finished';
    return null;
  }
}
