/** At every start: delivers messages that another tacho could not deliver, in the background. */

import { leftIn } from '../../store/state-mark.ts';
import { type Acting, mayAct } from '../config/own-state.ts';
import { APP_LIMITS } from '../limits.ts';
import type { DeliverOptions } from './deliver.ts';

/** Returns a function to call at the end; it waits only briefly. If nothing is left, no code is loaded. */
export function deliverLeft(
  state_dir: string,
  options: Acting & Omit<DeliverOptions, 'say'>,
): () => Promise<void> {
  const { outboxes } = leftIn(state_dir);
  if (outboxes.length === 0) return async () => {};
  if (!mayAct(state_dir, 'the messages in its outbox are not sent', options)) return async () => {};
  const delivering = import('./deliver.ts').then(({ deliver }) => deliver(state_dir, options));
  delivering.catch(() => {});
  return async () => {
    await delivering.then((begun) => begun.finish(APP_LIMITS.live_deliver_ms)).catch(() => {});
  };
}
