/**
 * The digest in a run's end: SHA-256 over the bodies of its events, one line each. A provisional end (run-entries)
 * covers the digest of the end before it and the events since, so that it costs no more than what is new.
 */
import { createHash } from 'node:crypto';

export class RecordDigest {
  /** The number of events so far. */
  events = 0;
  #hash = createHash('sha256');

  take(body: string): void {
    this.takeLines(`${body}\n`, 1);
  }

  /** Bodies of several events, each with LF. */
  takeLines(lines: string | Buffer, events: number): void {
    this.#hash.update(lines);
    this.events += events;
  }

  get value(): { events: number; sha256: string } {
    return { events: this.events, sha256: this.#hash.copy().digest('hex') };
  }

  /** Continues after a provisional end with this digest, behind the given number of events. */
  continueAfter(sha256: string, events: number): void {
    this.#hash = createHash('sha256').update(`${sha256}\n`);
    this.events = events;
  }
}
