/** Finishes the live session of a killed run from its events, after the messages already in the outbox. */
import { numbered } from '../../live/protocol/compose.ts';
import type { Event } from '../../model/event.ts';
import type { LiveMessage } from '../../model/live.ts';
import { LiveProjector } from '../../projections/live/live.ts';
import type { Outbox } from '../../store/outbox/file.ts';
import { openOutbox } from '../../store/outbox/outbox.ts';
import type { EventSink } from '../run/recorder.ts';
import type { LiveRunConfig } from './destination.ts';
import { livePaths } from './paths.ts';

/** Disposing it leaves the outbox to `deliver`. */
interface ResumedLive extends Disposable {
  /** Takes all events of the run, from the first one. Never throws: the record is more important. */
  sink: EventSink;
}

const NOTHING: ResumedLive = { sink: () => {}, [Symbol.dispose]: () => {} };

export function resumeLiveRun(
  state_dir: string,
  run_id: string,
  config: LiveRunConfig | null | undefined,
): ResumedLive {
  if (config == null) return NOTHING;
  try {
    const { url, token_file, ca } = config;
    const start = { session_id: run_id, url, token_file, ca };
    const outbox = openOutbox(livePaths(state_dir).outbox, start);
    return outbox === null ? NOTHING : resumed(outbox, config);
  } catch {
    return NOTHING;
  }
}

function resumed(outbox: Outbox, { call_timeout_ms, trace }: LiveRunConfig): ResumedLive {
  const { session_id } = outbox;
  const projector = new LiveProjector({ session_id, call_timeout_ms, trace });
  const { seq: last, messages: whole } = outbox.last_event;
  let open = !outbox.ended;

  async function take(event: Event): Promise<void> {
    const by_time = projector.tick(event.at_ms - 1);
    const messages = projector.push(event);
    if (event.seq > last) {
      put(outbox, by_time, 0);
      put(outbox, messages, event.seq);
    } else if (event.seq === last) {
      // Killed among the messages of one event: adds the rest of them.
      put(outbox, messages.slice(whole), event.seq);
      await restore(projector, outbox);
    }
  }

  return {
    async sink(events) {
      try {
        for (const event of events) if (open) await take(event);
      } catch {
        open = false;
      }
    },
    [Symbol.dispose]: () => outbox.close(),
  };
}

function put(outbox: Outbox, messages: readonly LiveMessage[], event: number): void {
  const { session_id, last_seq } = outbox;
  outbox.append(numbered(session_id, last_seq + 1, messages).map((one) => ({ ...one, event })));
}

/** Restores the numbers, times and answers in the outbox, so that none is used twice. */
async function restore(projector: LiveProjector, outbox: Outbox): Promise<void> {
  for (let from = outbox.first_seq; ; ) {
    const some = await outbox.read(from);
    if (some.length === 0) return;
    for (const { type, text, seq } of some)
      if (type === 'tool_call_response' || seq === outbox.last_seq)
        projector.restore(JSON.parse(text) as LiveMessage);
    from += some.length;
  }
}
