/** Any field of a foreign record may hold a value that cannot be converted to a string. */
import { expect } from 'vitest';
import { allAgents } from '../../src/agents/registry.ts';
import { verifies } from '../e2e/verifies.ts';
import { eventsOf, type Recording, recordingsOf } from '../torture/fuzz-capture.ts';

/** `String` and template literals throw for it: its field toString is not a function. */
const NO_TEXT = { toString: 1, valueOf: 1 };
const DEPTH_MAX = 5;

type Path = readonly (string | number)[];

function* textsIn(value: unknown, path: Path = []): Generator<Path> {
  if (typeof value === 'string') yield path;
  if (typeof value !== 'object' || value === null || path.length >= DEPTH_MAX) return;
  for (const [key, item] of Object.entries(value))
    yield* textsIn(item, [...path, Array.isArray(value) ? Number(key) : key]);
}

function replaced(value: unknown, [key, ...rest]: Path): unknown {
  if (key === undefined) return NO_TEXT;
  const copy = structuredClone(value) as Record<string | number, unknown>;
  copy[key] = replaced(copy[key], rest);
  return copy;
}

/** Problems that decoders report for the recording with line `at` replaced. */
function faultsOf(recording: Recording, lines: readonly string[], at: number, line: string) {
  const text = lines.with(at, line).join('\n');
  return eventsOf(recording, [Buffer.from(`${text}\n`)]).flatMap((event) =>
    event.kind === 'problem' && event.data.code === 'decoder_fault' ? [event.data.detail] : [],
  );
}

for (const agent of await allAgents()) {
  verifies(
    ['AG-2', 'AG-13'],
    `${agent.id}: a value that cannot become a string, in any field of any record, does not fail the decoder`,
    () => {
      const seen = new Set<string>();
      const faults: string[] = [];
      for (const recording of recordingsOf(agent)) {
        const lines = recording.bytes.toString('utf8').trimEnd().split('\n');
        for (const [at, line] of lines.entries()) {
          const record = parsed(line);
          for (const path of textsIn(record)) {
            const fields = path.map((key) => (typeof key === 'number' ? '#' : key)).join('.');
            const kind = `${recording.channel} ${kindOf(record)}: ${fields}`;
            if (seen.has(kind)) continue;
            seen.add(kind);
            const changed = JSON.stringify(replaced(record, path));
            for (const fault of faultsOf(recording, lines, at, changed))
              faults.push(`${kind}: ${fault}`);
          }
        }
      }
      expect(faults).toEqual([]);
    },
    300_000,
  );
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}

function kindOf(record: unknown): string {
  const { type, subtype, payload, event, item, method, message } = record as Record<
    string,
    unknown
  >;
  const inner = [payload, event, item].map((one) => (one as { type?: unknown } | null)?.type);
  const role = (message as { role?: unknown } | null | undefined)?.role;
  return [type, subtype, method, role, ...inner]
    .filter((word) => typeof word === 'string')
    .join('/');
}
