import { describe, expect } from 'vitest';
import { verifies } from '../../test/e2e/verifies.ts';
import { EventData } from '../model/event.ts';
import { secretHash } from '../store/journal/hash.ts';
import { createGate } from './gate.ts';
import { createRedactor } from './redact.ts';

const SECRET = 'Zq81mKpXv0tRs5Wd9Lb2';
const hash = secretHash(Buffer.alloc(32, 1));
const redactor = () => createRedactor({ env: { MY_API_KEY: SECRET }, secret_env: [], hash });

interface Schema {
  type?: string;
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  patternProperties?: Record<string, Schema>;
}
type Data = Record<string, unknown>;

/** Texts that tacho itself writes. */
const OURS = ['agent', 'attempt', 'completeness', 'digest', 'fingerprint', 'redactions', 'sha256'];

/** A value of the schema with the secret in each foreign text. */
function filled(schema: Schema): unknown {
  if (schema.anyOf) return filled(schema.anyOf[0] as Schema);
  if (schema.enum) return schema.enum[0];
  if (schema.const) return schema.const;
  if (schema.items) return [filled(schema.items)];
  if (schema.patternProperties)
    return { [`k ${SECRET}`]: filled(Object.values(schema.patternProperties)[0] as Schema) };
  if (schema.properties) {
    const given = Object.entries(schema.properties).filter(([name]) => !OURS.includes(name));
    return Object.fromEntries(given.map(([name, field]) => [name, filled(field)]));
  }
  if (schema.type === 'string') return `x ${SECRET} y`;
  return schema.type === undefined ? { [`k ${SECRET}`]: [`x ${SECRET} y`] } : 1;
}

const KINDS = Object.entries(EventData).map(([kind, schema]) => ({
  kind,
  data: filled(schema as Schema) as Data,
}));

/** The events that reach the journal. */
function journalled(drafts: readonly { kind: string; data: Data }[]): string {
  const gate = createGate(redactor());
  const kept = [...drafts.flatMap((draft) => gate.drafts([draft], '')), ...gate.held()];
  return JSON.stringify(kept.map((event) => gate.event(event)));
}

describe('a secret in every text of an event', () => {
  for (const { kind, data } of KINDS) {
    verifies('ST-7', `none is left in ${kind}`, () => {
      expect(JSON.stringify(data)).toContain(SECRET);
      expect(journalled([{ kind, data }])).not.toContain(SECRET);
    });
  }

  for (const kind of ['message', 'thinking']) {
    verifies('ST-7', `none is left in the ids of the last piece of a ${kind}`, () => {
      const ids = { message_id: `m ${SECRET}`, parent_call_id: `c ${SECRET}` };
      const piece = { kind: `${kind}_delta`, data: { ...ids, text: 'hello wor' } };
      const end = { kind: `${kind}_finished`, data: { ...ids, text: 'hello wor' } };
      for (const drafts of [[piece, end], [piece]]) {
        const text = journalled(drafts);
        expect(text).toContain('"text":"wor"');
        expect(text).not.toContain(SECRET);
      }
    });
  }

  verifies('ST-7', 'none is left in a progress without a text', () => {
    const data = { call_id: `c ${SECRET}`, tool: SECRET, text: null, elapsed_ms: 1, stream: null };
    expect(journalled([{ kind: 'call_progress', data }])).not.toContain(SECRET);
  });

  verifies(
    'ST-7',
    'text held at the end is returned as the journal stores it, including ids',
    () => {
      const gate = createGate(redactor());
      const ids = { message_id: `m ${SECRET}`, parent_call_id: null };
      gate.drafts([{ kind: 'message_delta', data: { ...ids, text: 'hello wor' } }], '');
      const [last] = gate.held();
      expect(last).toMatchObject({ data: { text: 'wor' } });
      expect(JSON.stringify(last)).not.toContain(SECRET);
    },
  );

  verifies('ST-7', 'none is left where the detail of a problem is cut', () => {
    const data = { detail: `${'x'.repeat(290)} ${SECRET} rest`, excerpt: null };
    const gate = createGate(redactor());
    const [problem] = gate.drafts([{ kind: 'problem', data }], '');
    expect(problem?.data.detail).not.toContain(SECRET.slice(0, 6));
  });

  verifies('ST-7', 'the ids of drafts are unchanged: calls are paired by them', () => {
    const data = { call_id: `c ${SECRET}`, text: 'a b', elapsed_ms: null, stream: null };
    const gate = createGate(redactor());
    const [piece] = gate.drafts([{ kind: 'call_progress', data }], '');
    expect(piece?.data.call_id).toBe(data.call_id);
  });
});
