/** A recording as a program reads it: events to iterate, and an outcome, in one pass over the input. */
import { TachoError } from '../../lib/errors.ts';
import { createQueue } from '../../lib/queue.ts';
import { checkOptions } from '../../lib/schema/options.ts';
import type { Event } from '../../model/event.ts';
import type { RunOutcome } from '../../model/outcome.ts';
import { createOutcomeFold } from '../../projections/outcome.ts';
import { agentOf } from '../config/agent-of.ts';
import { openRedactor, passingHash } from '../config/redaction.ts';
import { CONVERT_FIELDS } from '../run/option-fields.ts';
import { eventsOf } from './convert.ts';

/** Options of `convert`. */
export interface ConvertOptions {
  /** Id of the agent that wrote the recording. */
  agent: string;
  /** Whether the input is a recorded stdout or a session file. Default: `'stdout'`. */
  from?: 'stdout' | 'session' | undefined;
  /** Path of a file, or the bytes themselves. */
  input: string | AsyncIterable<Uint8Array>;
  /** Patterns of secrets to redact, in addition to the known ones. */
  redact?: readonly string[] | undefined;
}

/** A recording: events to iterate, and an outcome. */
export interface Converted extends AsyncIterable<Event> {
  /** Reads the input to its end. Together with an iteration, the input is read once. */
  readonly outcome: Promise<RunOutcome>;
}

/** The most events that may wait for the reader. */
const WAITING_MAX = 1_000;

/** Reads a recording. Nothing is read before it is iterated or its outcome is requested. */
export function convert(options: ConvertOptions): Converted {
  checkOptions('convert', options, CONVERT_FIELDS);
  const queue = createQueue<Event>(WAITING_MAX);
  let asked = false;
  let reading: Promise<RunOutcome> | null = null;

  async function read(): Promise<RunOutcome> {
    const fold = createOutcomeFold({ keepIo: false });
    for await (const batch of redactedEvents(options)) {
      for (const event of batch) fold.push(event);
      await queue.put(batch);
      if (queue.left && !asked) throw stopped();
    }
    return fold.finish();
  }
  function begin(): Promise<RunOutcome> {
    reading ??= read();
    // A caller that only iterates gets the error there, and must not crash with an unhandled rejection.
    reading.then(() => queue.end(), queue.end);
    return reading;
  }
  return {
    get outcome() {
      asked = true;
      return begin();
    },
    [Symbol.asyncIterator]() {
      void begin();
      return queue.read();
    },
  };
}

async function* redactedEvents(options: ConvertOptions): AsyncGenerator<Event[]> {
  const { from = 'stdout', input, redact = [] } = options;
  const agent = await agentOf(options.agent);
  const { env } = process;
  const redactor = openRedactor({
    env,
    redact,
    agents: [agent],
    hash: passingHash(undefined, env),
  });
  yield* eventsOf({ agent, from, input, redactor });
}

const stopped = () =>
  new TachoError('usage', 'reading stopped with the loop: request `outcome` before you leave it', {
    stage: 'convert',
  });
