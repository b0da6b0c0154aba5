/**
 * Writes an outcome with any number of calls in constant memory: finished calls are spilled and read back at the end.
 */
import type { OutcomeCall, RunOutcome } from '../../model/outcome.ts';
import type { CallPatch } from '../../projections/outcome.ts';
import { DiskList, inPieces } from './disk-list.ts';

type Patches = ReadonlyMap<number, CallPatch>;

/** `tmp`: the folder where many calls are kept until the end. `byte_text`: whether the calls contain byte text. */
export function createCallSpill(tmp: string, byte_text: boolean) {
  const spill = new DiskList(tmp, byte_text ? 'latin1' : 'utf8');
  function* parts(outcome: RunOutcome, patches: Patches): Generator<string | Buffer, void> {
    const { tool_calls: _, ...rest } = outcome;
    yield `${JSON.stringify(rest).slice(0, -1)},"tool_calls":[`;
    const unchanged = (index: number) => !patches.has(index);
    let separator = '';
    for (let index = 0; index < spill.count; ) {
      const patch = patches.get(index);
      const calls = spill.list(index, patch === undefined ? unchanged : () => false);
      index = calls?.next ?? index + 1;
      if (calls === null) continue;
      yield separator;
      separator = ',';
      yield patch === undefined ? calls.bytes : patchedText(calls.bytes, patch);
    }
    yield ']}';
  }
  return {
    put: (call: OutcomeCall, index: number) => spill.put(JSON.stringify(call), index),
    /**
     * The outcome as JSON text, with the spilled calls as its `tool_calls`. A chunk is valid until the next is
     * requested. Nothing may be added after this.
     */
    pieces: (outcome: RunOutcome, patches: Patches) => inPieces(parts(outcome, patches)),
    [Symbol.dispose]: () => spill.close(),
  };
}

/** A call as JSON text with its later updates. */
export function patchedText(bytes: Buffer, { status, exit_code }: CallPatch): string {
  const call = JSON.parse(bytes.toString('utf8')) as OutcomeCall;
  return JSON.stringify({
    ...call,
    status: status ?? call.status,
    exit_code: exit_code ?? call.exit_code,
  });
}
