/** The rules for every agent's declared shapes (AG-19): its recordings match them, and a changed one does not. */
import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { driftIn, type Finding } from '../src/app/sessions/drift.ts';
import { parseShape, type Shape } from '../src/lib/shape.ts';
import type { Agent, RecordShapes } from '../src/model/agent.ts';
import { verifies } from './e2e/verifies.ts';
import type { Recording } from './test-agent.ts';

type Native = Record<string, unknown>;

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

async function findingsIn(agent: Agent, { channel }: Recording, text: string): Promise<Finding[]> {
  return (await driftIn({ agent, from: channel, input: bytesOf(text) })).findings;
}

/** The lines with `change` applied to those that are records. */
function changed(path: string, change: (record: Native) => Native): string {
  return readFileSync(path, 'utf8')
    .split('\n')
    .map((line) => (line.startsWith('{"') ? JSON.stringify(change(JSON.parse(line))) : line))
    .join('\n');
}

function recordsIn(path: string): Native[] {
  const records: Native[] = [];
  changed(path, (record) => {
    records.push(record);
    return record;
  });
  return records;
}

/** A field that each record of its kind has but does not need to be recognised. */
function constantIn(path: string, shapes: RecordShapes, channel: Recording['channel']) {
  for (const record of recordsIn(path)) {
    const kind = shapes.kindOf(record);
    const fields = parseShape(shapes[channel][kind] ?? '', '').get('')?.fields ?? new Map();
    for (const [name, { always }] of fields) {
      const { [name]: _, ...rest } = record;
      if (always && shapes.kindOf(rest) === kind) return { kind, name };
    }
  }
  return null;
}

/** Places in both that are empty in the hand-written one. */
function inBoth(recorded: Shape | null, unrecorded: Shape | null): string[] {
  return [...(unrecorded ?? [])].flatMap(([kind, { path, fields }]) =>
    [...fields].flatMap(([name, { inner }]) => {
      const known = recorded?.get(kind)?.fields.get(name);
      if (known === undefined) return [];
      return inner === null ? [`${path}.${name}`] : inBoth(known.inner, inner);
    }),
  );
}

export function testShapes(agent: Agent, recordings: readonly Recording[]): void {
  if (agent.shapes === undefined) return;
  verifies('AG-19', `${agent.id}: no recording drifts from the declared shapes`, async () => {
    for (const { scenario, channel, path } of recordings) {
      const drift = await driftIn({ agent, from: channel, input: path });
      expect(drift, `${scenario} ${channel}`).toEqual({ findings: [], left_out: 0 });
    }
  });
  verifies('AG-19', `${agent.id}: fields listed by hand are in no recording`, async () => {
    const shapes = (await agent.shapes?.()) as RecordShapes;
    const both = (['stdout', 'session'] as const).flatMap((channel) =>
      Object.entries(shapes.unrecorded?.[channel] ?? {}).flatMap(([kind, text]) =>
        inBoth(parseShape(shapes[channel][kind] ?? '', kind), parseShape(text, kind)),
      ),
    );
    expect(both).toEqual([]);
  });
  verifies(
    'AG-19',
    `${agent.id}: a future field is reported as new wherever it appears`,
    async () => {
      const shapes = (await agent.shapes?.()) as RecordShapes;
      for (const recording of recordings) {
        const { path, channel, scenario } = recording;
        const seen = new Map<string, number>();
        for (const kind of recordsIn(path).map((record) => shapes.kindOf(record)))
          if (shapes[channel][kind] !== undefined) seen.set(kind, (seen.get(kind) ?? 0) + 1);
        const text = changed(path, (record) => ({ ...record, zz_future: { deep: 1 } }));
        const found = await findingsIn(agent, recording, text);
        expect(
          new Map(found.map(({ code, what, count }) => [`${code} ${what}`, count])),
          `${scenario} ${channel}`,
        ).toEqual(
          new Map([...seen].map(([kind, count]) => [`new_field ${kind}: zz_future`, count])),
        );
      }
    },
  );
  verifies(
    'AG-19',
    `${agent.id}: a field missing from all records is reported as gone`,
    async () => {
      const shapes = (await agent.shapes?.()) as RecordShapes;
      let tried = 0;
      for (const recording of recordings) {
        const { path, channel, scenario } = recording;
        const constant = constantIn(path, shapes, channel);
        if (constant === null) continue;
        tried += 1;
        const { kind, name } = constant;
        const text = changed(path, (record) => {
          const { [name]: _, ...rest } = record;
          return shapes.kindOf(record) === kind ? rest : record;
        });
        const found = await findingsIn(agent, recording, text);
        expect(
          found.filter(({ code }) => code === 'gone_field').map(({ what }) => what),
          `${scenario} ${channel}`,
        ).toEqual([`${kind}: ${name}`]);
      }
      expect(tried).toBeGreaterThan(0);
    },
  );
}
