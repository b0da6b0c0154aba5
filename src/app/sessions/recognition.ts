/** Whether a recording is from the given agent, and which agents it looks like if not. */
import { allAgents } from '../../agents/registry.ts';
import { jsonIn } from '../../lib/json.ts';
import type { Agent, Decoder } from '../../model/agent.ts';
import type { Draft } from '../../model/draft.ts';
import type { Event } from '../../model/event.ts';
import type { ConvertFrom } from './convert.ts';

/** Bytes of a recording that are enough to identify its agent. */
export const HEAD_BYTES = 64 * 1024;
const LINES_MAX = 50;

const RECOGNISED = new Set<Event['kind']>([
  'session_started',
  'step_started',
  'message_finished',
  'call_requested',
]);

/** Watches the events of a recording. `foreign`: it contains records, and the agent's decoder knows none of them. */
export function createRecognition() {
  let unknown = false;
  let known = false;
  return {
    take({ kind, data }: Event): void {
      known ||= RECOGNISED.has(kind);
      unknown ||= kind === 'problem' && data.code === 'unknown_record';
    },
    get foreign(): boolean {
      return unknown && !known;
    },
  };
}

/** Number of records that a decoder knows. */
function knownBy(decoder: Decoder, records: readonly unknown[]): number {
  return records.filter((record) => {
    const out: Draft[] = [];
    decoder.record(record, out);
    return !out.some(({ kind, data }) => kind === 'problem' && data.code === 'unknown_record');
  }).length;
}

const CHANNELS: readonly [ConvertFrom, (agent: Agent) => Decoder | undefined][] = [
  ['stdout', (agent) => agent.stream?.()],
  ['session', (agent) => agent.session?.decoder()],
];

/** The agents and channels that know the most of the recording's first records. */
export async function looksLike(head: Buffer): Promise<{ agent: string; from: ConvertFrom }[]> {
  const lines = head.toString('utf8').split('\n').slice(0, LINES_MAX);
  const records = lines.map(jsonIn).filter((value) => typeof value === 'object' && value !== null);
  const counts = (await allAgents()).flatMap((agent) =>
    CHANNELS.flatMap(([from, decoderOf]) => {
      const decoder = decoderOf(agent);
      return decoder ? [{ agent: agent.id, from, known: knownBy(decoder, records) }] : [];
    }),
  );
  const best = Math.max(...counts.map(({ known }) => known));
  if (best * 2 <= records.length) return [];
  return counts.filter(({ known }) => known === best).map(({ agent, from }) => ({ agent, from }));
}
