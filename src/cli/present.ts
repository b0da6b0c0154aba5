/** Events → output on stdout for people or programs: run-event records or human text, never both (RE-15). */

import { RunCost } from '../app/prices/priced.ts';
import type { EventSink } from '../app/run/recorder.ts';
import type { Event } from '../model/event.ts';
import type { OutputMode } from '../model/words.ts';
import { HumanProjection } from '../projections/human.ts';
import { createRunEventProjection, serialiseRunEvent } from '../projections/run-event.ts';
import type { Io } from './command.ts';
import { styleOf } from './style.ts';

export interface PresentOptions {
  output: OutputMode;
  stream: boolean;
  cwd: string;
}

/**
 * An event that cannot be shown is skipped, so that the end is always shown. The first failure is thrown after the
 * end.
 */
export function createPresenter(io: Io, { output, stream, cwd }: PresentOptions): EventSink {
  const json = output === 'json';
  const show = json ? recordText(stream) : humanText(io, stream, cwd);
  let failure: unknown = null;
  const shown = async (event: Event): Promise<string> => {
    try {
      return await show(event);
    } catch (error) {
      failure ??= error;
      return '';
    }
  };
  return async (events) => {
    let text = '';
    for (const event of events) text += await shown(event);
    if (text !== '' && !io.out.gone) await (json ? io.out.json(text) : io.out.write(text));
    if (failure !== null && events.at(-1)?.kind === 'run_finished') throw failure;
  };
}

type ToText = (event: Event) => string | Promise<string>;

function recordText(stream: boolean): ToText {
  const projection = createRunEventProjection({ stream });
  return (event) => {
    const record = projection.project(event);
    return record === null ? '' : serialiseRunEvent(record);
  };
}

function humanText(io: Io, stream: boolean, cwd: string): ToText {
  const projection = new HumanProjection({ ...styleOf(io), stream, cwd });
  const cost = new RunCost();
  return (event) => {
    cost.push(event);
    if (event.kind !== 'run_finished') return projection.project(event);
    return cost.value().then((computed) => projection.project(event, computed));
  };
}
