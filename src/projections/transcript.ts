/**
 * Events → Transcript (TR-1): what was asked, said and called, in order. The run's facts come from its outcome.
 * With a sink the fold keeps no finished message or call, so that memory stays flat for any number of events.
 */
import type { Event, EventOf } from '../model/event.ts';
import type { OutcomeCall, RunOutcome } from '../model/outcome.ts';
import type { Transcript, TranscriptCall, TranscriptMessage } from '../model/transcript.ts';
import { EVAL_TEST_LABEL, IMPORTED_FILE_LABEL, TRANSCRIPT_SCHEMA } from '../model/words.ts';
import { createOutcomeFold } from './outcome.ts';
import { CallFold, type CallPatch } from './outcome-calls.ts';
import { knownTime, MessageFold, type MessageHead, type Moved } from './transcript-messages.ts';

export type { MessageHead, Moved } from './transcript-messages.ts';

/** Everything but the messages. */
export type TranscriptFacts = Omit<Transcript, 'messages'>;

/** A whole transcript, wherever its messages are kept. */
export interface TranscriptView {
  facts: TranscriptFacts;
  /** How many messages there are. */
  count: number;
  at(index: number): TranscriptMessage;
}

export function viewOf({ messages, ...facts }: Transcript): TranscriptView {
  return { facts, count: messages.length, at: (index) => messages[index] as TranscriptMessage };
}

export interface TranscriptSink {
  /** Each message once nothing more is said in it, with its place in the order of their beginnings. */
  message(head: MessageHead, place: number): void;
  /** Each call as it ends, with its index, which heads of messages name. */
  call(call: TranscriptCall, index: number): void;
}

export interface TranscriptFold {
  push(event: Event): void;
  /** Ends what is open. `outcome`: of the same events. */
  finish(outcome: RunOutcome): TranscriptFacts;
  /** Late changes of calls, by index. */
  readonly patches: ReadonlyMap<number, CallPatch>;
  /** Messages that belong elsewhere than they began. */
  readonly moved: Moved | null;
}

interface Times {
  call_id: string;
  reads: string[];
  started_ms: number | null;
}

export function createTranscriptFold(sink: TranscriptSink): TranscriptFold {
  return new Fold(sink);
}

class Fold implements TranscriptFold {
  readonly #messages: MessageFold;
  readonly #calls: CallFold;
  /** Of open calls, by index. */
  readonly #times = new Map<number, Times>();
  readonly #indexes = new Map<string, number>();
  #started: EventOf<'run_started'> | null = null;
  #cwd: string | null = null;
  #exited = false;
  #finished = false;
  #at_ms = 0;

  constructor(sink: TranscriptSink) {
    this.#messages = new MessageFold((head, place) => sink.message(head, place));
    const onCall = (call: OutcomeCall, index: number) => sink.call(this.#ended(call, index), index);
    this.#calls = new CallFold({ keepIo: true, onCall });
  }

  get patches(): ReadonlyMap<number, CallPatch> {
    return this.#calls.patches;
  }

  get moved(): Moved | null {
    return this.#messages.moved;
  }

  push(event: Event): void {
    this.#at_ms = event.at_ms;
    this.#messages.push(event);
    switch (event.kind) {
      case 'run_started':
        this.#started = event;
        this.#cwd = event.data.cwd;
        break;
      case 'session_started':
        this.#cwd ??= event.data.cwd;
        break;
      case 'call_requested':
        this.#requested(event);
        break;
      case 'call_started': {
        const times = this.#times.get(this.#indexes.get(event.data.call_id) ?? -1);
        if (times !== undefined) times.started_ms = knownTime(event.at_ms);
        break;
      }
      case 'call_finished':
        this.#calls.push(event);
        this.#messages.endSub(event.data.call_id);
        break;
      case 'call_updated':
        this.#calls.push(event);
        break;
      case 'process_exited':
        this.#exited = true;
        break;
      case 'run_finished':
        this.#finished = true;
        break;
    }
  }

  #requested(event: EventOf<'call_requested'>): void {
    const index = this.#calls.count;
    this.#calls.push(event);
    if (this.#calls.count === index) return;
    const { call_id, reads, parent_call_id } = event.data;
    this.#times.set(index, { call_id, reads, started_ms: null });
    this.#indexes.set(call_id, index);
    this.#messages.call(event, parent_call_id, index);
  }

  #ended(call: OutcomeCall, index: number): TranscriptCall {
    const times = this.#times.get(index);
    const start_time_ms = times?.started_ms ?? null;
    const known = this.#at_ms > 0;
    this.#times.delete(index);
    if (times !== undefined) this.#indexes.delete(times.call_id);
    return {
      id: times?.call_id ?? call.id,
      name: call.name,
      native_name: call.native_name,
      input: call.inputs ?? null,
      output: call.outputs ?? null,
      status: call.status,
      exit_code: call.exit_code,
      reads: times?.reads ?? [],
      start_time_ms,
      end_time_ms: knownTime(this.#at_ms),
      duration_ms: known ? call.duration_ms : null,
    };
  }

  finish(outcome: RunOutcome): TranscriptFacts {
    this.#calls.closeOpen(this.#finished ? 'cancelled' : 'unknown');
    this.#messages.finish();
    const { metrics, metadata } = outcome;
    const start_time_ms = knownTime(metrics.start_time_ms ?? 0);
    return {
      schema_version: TRANSCRIPT_SCHEMA,
      test_id: metadata.labels[EVAL_TEST_LABEL] ?? null,
      run_id: outcome.run_id,
      session_id: outcome.session_id,
      agent: outcome.agent,
      agent_version: outcome.agent_version,
      target: this.#started?.data.config?.target ?? null,
      model: metrics.model_name,
      success: outcome.success,
      exit_reason: outcome.exit_reason,
      terminal_evidence: outcome.terminal_evidence,
      final_output: outcome.message,
      skills_used: outcome.skills_used,
      start_time_ms,
      end_time_ms: knownTime(metrics.end_time_ms ?? 0),
      duration_ms: start_time_ms === null ? null : metrics.duration_ms,
      steps: metrics.steps,
      tool_calls_count: metrics.tool_calls_count,
      token_usage: metrics.tokens,
      cost_usd: metrics.cost,
      cost_source: metrics.cost_source,
      completeness: outcome.completeness,
      source: this.#source(metadata.labels),
    };
  }

  /** How the run came to be, from its events alone, so that a transcript made again is the same. */
  #source(labels: Record<string, string>): Transcript['source'] {
    const evaluated = labels[EVAL_TEST_LABEL] !== undefined;
    const imported = this.#exited ? null : (labels[IMPORTED_FILE_LABEL] ?? null);
    const recorded = imported === null ? 'record' : 'import';
    const kind = this.#exited ? (evaluated ? 'eval' : 'run') : recorded;
    const converted = this.#started?.data.config == null;
    return { kind: converted ? 'convert' : kind, path: imported, cwd: this.#cwd };
  }
}

/** All of a transcript in memory, for events that are few. */
export function transcriptOf(events: Iterable<Event>): Transcript {
  const heads: MessageHead[] = [];
  const calls: TranscriptCall[] = [];
  const outcomes = createOutcomeFold({ keepIo: false });
  const fold = createTranscriptFold({
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

export function patchedCall(call: TranscriptCall, patch: CallPatch | undefined): TranscriptCall {
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
