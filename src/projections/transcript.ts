/**
 * Events → Transcript (TR-1): prompts, messages and calls in order. The facts of the run come from its outcome.
 * With a sink the fold keeps no finished message or call, so that memory stays flat for any number of events.
 */
import { pick } from '../lib/pick.ts';
import type { Event } from '../model/event.ts';
import type { OutcomeCall, RunOutcome } from '../model/outcome.ts';
import { RunFold } from '../model/run-fold.ts';
import type { Transcript, TranscriptCall, TranscriptMessage } from '../model/transcript.ts';
import { EVAL_TEST_LABEL, IMPORTED_FILE_LABEL, TRANSCRIPT_SCHEMA } from '../model/words.ts';
import { createOutcomeFold, knownTime } from './outcome.ts';
import { CallFold, type CallPatch, type OpenCall } from './outcome-calls.ts';
import { MessageFold, type MessageHead, type Moved } from './transcript-messages.ts';

export type { MessageHead, Moved } from './transcript-messages.ts';

/** Everything but the messages. */
export type TranscriptFacts = Omit<Transcript, 'messages'>;

/** A complete transcript; its messages may be stored anywhere. */
export interface TranscriptView {
  facts: TranscriptFacts;
  /** Number of messages. */
  count: number;
  at(index: number): TranscriptMessage;
}

export function viewOf({ messages, ...facts }: Transcript): TranscriptView {
  return { facts, count: messages.length, at: (index) => messages[index] as TranscriptMessage };
}

export interface TranscriptSink {
  /** Takes each message when it is complete, with its place in the order in which messages begin. */
  message(head: MessageHead, place: number): void;
  /** Takes each call as it ends, with the index that message heads refer to. */
  call(call: TranscriptCall, index: number): void;
}

export class TranscriptFold {
  readonly #messages: MessageFold;
  readonly #calls: CallFold;
  readonly #run = new RunFold();
  #exited = false;
  #at_ms = 0;

  constructor(sink: TranscriptSink) {
    this.#messages = new MessageFold((head, place) => sink.message(head, place));
    this.#calls = new CallFold({
      keepIo: true,
      onCall: (call, index, open) => sink.call(this.#ended(call, open), index),
    });
  }

  /** Late changes of calls, by index. */
  get patches(): ReadonlyMap<number, CallPatch> {
    return this.#calls.patches;
  }

  /** Messages that belong at another place than where they began. */
  get moved(): Moved | null {
    return this.#messages.moved;
  }

  push(event: Event): void {
    this.#at_ms = event.at_ms;
    this.#run.push(event);
    this.#messages.push(event);
    const index = this.#calls.count;
    this.#calls.push(event);
    if (event.kind === 'call_requested' && this.#calls.count > index)
      this.#messages.call(event, event.data.parent_call_id, index);
    else if (event.kind === 'call_finished') this.#messages.endSub(event.data.call_id);
    else if (event.kind === 'process_exited') this.#exited = true;
  }

  #ended(call: OutcomeCall, { call_id, reads, started_ms }: OpenCall): TranscriptCall {
    const end_time_ms = knownTime(this.#at_ms);
    return {
      id: call_id,
      ...pick(call, 'name', 'native_name'),
      input: call.inputs ?? null,
      output: call.outputs ?? null,
      ...pick(call, 'status', 'exit_code'),
      reads,
      start_time_ms: knownTime(started_ms),
      end_time_ms,
      duration_ms: end_time_ms === null ? null : call.duration_ms,
    };
  }

  /** Ends open messages and calls. `outcome`: of the same events. */
  finish(outcome: RunOutcome): TranscriptFacts {
    this.#calls.finish(this.#run.finished === null ? 'unknown' : 'cancelled');
    this.#messages.finish();
    const { metrics, metadata } = outcome;
    const start_time_ms = knownTime(metrics.start_time_ms);
    return {
      schema_version: TRANSCRIPT_SCHEMA,
      test_id: metadata.labels[EVAL_TEST_LABEL] ?? null,
      ...pick(outcome, 'run_id', 'session_id', 'agent', 'agent_version'),
      target: this.#run.started?.data.config?.target ?? null,
      model: metrics.model_name,
      ...pick(outcome, 'success', 'exit_reason', 'terminal_evidence'),
      final_output: outcome.message,
      skills_used: outcome.skills_used,
      start_time_ms,
      end_time_ms: knownTime(metrics.end_time_ms),
      duration_ms: start_time_ms === null ? null : metrics.duration_ms,
      ...pick(metrics, 'steps', 'tool_calls_count'),
      token_usage: metrics.tokens,
      cost_usd: metrics.cost,
      cost_source: metrics.cost_source,
      completeness: outcome.completeness,
      source: this.#source(metadata.labels),
    };
  }

  /** The origin of the run, from its events alone, so that a transcript can be reproduced. */
  #source(labels: Record<string, string>): Transcript['source'] {
    const evaluated = labels[EVAL_TEST_LABEL] !== undefined;
    const imported = this.#exited ? null : (labels[IMPORTED_FILE_LABEL] ?? null);
    const recorded = imported === null ? 'record' : 'import';
    const kind = this.#exited ? (evaluated ? 'eval' : 'run') : recorded;
    const converted = this.#run.started?.data.config == null;
    return { kind: converted ? 'convert' : kind, path: imported, cwd: this.#run.names.cwd };
  }
}

/** A transcript in memory, for a small number of events. */
export function transcriptOf(events: Iterable<Event>): Transcript {
  const heads: MessageHead[] = [];
  const calls: TranscriptCall[] = [];
  const outcomes = createOutcomeFold({ keepIo: false });
  const fold = new TranscriptFold({
    message(head, place) {
      heads[place] = head;
    },
    call(call, index) {
      calls[index] = call;
    },
  });
  for (const event of events) {
    outcomes.push(event);
    fold.push(event);
  }
  const facts = fold.finish(outcomes.finish());
  const messages = placesOf(heads.length, fold.moved).map((place, index) => {
    const { calls: indexes, ...head } = heads[place] as MessageHead;
    const tool_calls = indexes.map((at) =>
      patchedCall(calls[at] as TranscriptCall, fold.patches.get(at)),
    );
    return { index, ...head, tool_calls };
  });
  return { ...facts, messages };
}

function patchedCall(call: TranscriptCall, patch: CallPatch | undefined): TranscriptCall {
  if (patch === undefined) return call;
  return {
    ...call,
    status: patch.status ?? call.status,
    exit_code: patch.exit_code ?? call.exit_code,
  };
}

/** The places of all messages in reading order. */
export function placesOf(count: number, moved: Moved | null): number[] {
  const places = Array.from({ length: count }, (_, place) => place);
  if (moved === null) return places;
  const added = places.splice(moved.from);
  places.splice(moved.before, 0, ...added);
  return places;
}
