/**
 * The session file of a run as its second channel: bytes → drafts → the drafts that the stream lacked → events of the
 * run.
 */
import type { Agent } from '../model/agent.ts';
import type { Draft } from '../model/draft.ts';
import type { Event, Raw } from '../model/event.ts';
import type { Intake, Pipeline } from './pipeline.ts';
import { Reader } from './reader.ts';
import { Reconciler } from './reconcile.ts';

/** `since_ms`: earlier records belong to earlier runs. Null for an agent that keeps no session files. */
export function createSessionIntake(
  agent: Agent,
  pipeline: Pipeline,
  since_ms: number,
): Intake | null {
  const stream_usage = pipeline.state.usage.tokens !== null;
  const decoder = agent.session?.decoder({ since_ms, stream_usage });
  if (decoder === undefined) return null;
  const reconciler = new Reconciler(agent, pipeline.state);
  const reader = new Reader({ decoder, take });
  let out: Event[] = [];
  let last: Raw | null = null;

  function give(drafts: readonly Draft[]): void {
    for (const draft of drafts) out.push(...pipeline.draft(draft, last));
  }
  function take(drafts: readonly Draft[], raw: Raw | null): void {
    last = raw ?? last;
    for (const draft of drafts) give(reconciler.draft(draft));
  }
  const giving =
    <Given extends unknown[]>(step: (...given: Given) => void) =>
    (...given: Given): Event[] => {
      out = [];
      step(...given);
      return out;
    };

  return {
    push: giving((channel, chunk) => reader.push(channel, chunk)),
    record: giving((value, raw, part) => reader.record(value, raw, part)),
    line: giving((text, raw, part, terminated) => reader.line(text, raw, part, terminated)),
    draft: giving((draft, raw) => take([draft], raw)),
    endOfInput: giving((channel) => {
      reader.end(channel);
      take(reader.endRecords(), null);
      give(reconciler.end());
    }),
  };
}
