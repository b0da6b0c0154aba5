/** Events of runs as records of the run-event contract, as `tacho run --output json` prints them. */
import type { Event } from '../../model/event.ts';
import type { RunEvent } from '../../model/run-event.ts';
import { createRunEventProjection } from '../../projections/run-event.ts';

export interface RunEventsOptions {
  /** Whether pieces of text become `model_delta` records. Default: false. */
  stream?: boolean | undefined;
}

/** The records of a run, a recording or the events of a stored run. Each run, and each attempt, is numbered from 1. */
export async function* runEvents(
  events: AsyncIterable<Event> | Iterable<Event>,
  { stream = false }: RunEventsOptions = {},
): AsyncGenerator<RunEvent, void> {
  let projection = createRunEventProjection({ stream });
  for await (const event of events) {
    if (event.kind === 'run_started') projection = createRunEventProjection({ stream });
    const record = projection.project(event);
    if (record !== null) yield record;
  }
}
