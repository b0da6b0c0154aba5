/** Events of runs as records of the run-event contract, as `tacho run --output json` prints them. */
import { checkOptions, having } from '../../lib/schema/options.ts';
import * as is from '../../lib/schema/read.ts';
import type { Event } from '../../model/event.ts';
import type { RunEvent } from '../../model/run-event.ts';
import { createRunEventProjection } from '../../projections/run-event.ts';

/** Options of `runEvents`. */
export interface RunEventsOptions {
  /** Whether pieces of text become `model_delta` records. Default: false. */
  stream?: boolean | undefined;
}

const RUN_EVENTS_FIELDS = { stream: is.flag } as const satisfies Readonly<
  Record<keyof RunEventsOptions, is.Fields[string]>
>;
const EVENTS_FIELD = {
  events: is.required(having('an iterable of events', Symbol.asyncIterator, Symbol.iterator)),
};

/** The records of a run, a recording or the events of a stored run. Each run, and each attempt, is numbered from 1. */
export function runEvents(
  events: AsyncIterable<Event> | Iterable<Event>,
  options: RunEventsOptions = {},
): AsyncGenerator<RunEvent, void> {
  checkOptions('runEvents', { events }, EVENTS_FIELD);
  checkOptions('runEvents', options, RUN_EVENTS_FIELDS);
  return recordsOf(events, options);
}

async function* recordsOf(
  events: AsyncIterable<Event> | Iterable<Event>,
  { stream = false }: RunEventsOptions,
): AsyncGenerator<RunEvent, void> {
  let projection = createRunEventProjection({ stream });
  for await (const event of events) {
    if (event.kind === 'run_started') projection = createRunEventProjection({ stream });
    const record = projection.project(event);
    if (record !== null) yield record;
  }
}
