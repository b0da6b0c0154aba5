/** Criteria 7.1–7.2: the protocol as a whole. */
import { LIVE_TYPES, LIVE_VERSION } from '../model/live-words.ts';
import type { SectionRule } from './rule.ts';
import type { Item } from './tracked.ts';
import { type Message, NOWHERE } from './types.ts';

function handshakeFault({ type, data }: Message): string | null {
  const info = data.server_info as { protocol_version?: unknown } | undefined;
  const version = type === 'handshake_request' ? data.version : info?.protocol_version;
  if (version !== LIVE_VERSION) return `the protocol version is ${version}, not ${LIVE_VERSION}`;
  if (type === 'handshake_response' && data.success === true && data.session_id == null)
    return 'a successful handshake does not name a session';
  return null;
}

/** Whether the handshake offers any message types, and the first one it lacks. */
function offerOf({ data }: Message): {
  offers: boolean;
  lacks: string | null;
} {
  const features = new Set(data.supported_features as string[]);
  const offers = LIVE_TYPES.some((type) => features.has(type));
  const lacks = LIVE_TYPES.find((type) => !features.has(type)) ?? null;
  return { offers, lacks: offers ? lacks : null };
}

function orderFault({ sequence, seq, expected_seq }: Item): string | null {
  switch (sequence) {
    case 'gap':
      return `number ${seq} arrived where ${expected_seq} was expected`;
    case 'late':
      return `number ${seq} arrived after ${expected_seq - 1}`;
    case 'conflict':
      return `number ${seq} was already used for different content`;
    default:
      return null;
  }
}

const compliance: SectionRule = {
  id: '7.1',
  title: 'every line is a protocol message, in order',
  types: null,
  nothing: 'the stream is empty',
  create(tally, { live }) {
    let handshakes = 0;
    let offers = 0;

    function shaken(message: Message): string | null {
      handshakes += 1;
      const fault = handshakeFault(message);
      if (fault !== null || message.type === 'handshake_request') return fault;
      const { offers: some, lacks } = offerOf(message);
      if (some) offers += 1;
      return lacks === null ? null : `the handshake does not offer ${lacks}`;
    }

    function wrong(item: Item): string | null {
      const { fault, message, session, seq } = item;
      if (fault !== null || message === null) return fault?.message ?? 'not a message';
      if (message.type === 'handshake_request' || message.type === 'handshake_response')
        return shaken(message);
      if (session?.messages === 0 && item.sequence === 'next' && seq !== 1 && !live)
        return `the session starts at number ${seq}, not at 1`;
      return orderFault(item);
    }
    return {
      push: (item) => tally.judge(item, wrong(item)),
      unjudged: () => [
        ...(handshakes === 0 ? ['protocol versions: there is no handshake'] : []),
        ...(offers === 0 ? ['types the receiver accepts: no handshake lists any'] : []),
      ],
    };
  },
};

const TRANSPORTS = ['stdio', 'tcp', 'pipe'];

const integration: SectionRule = {
  id: '7.2',
  title: 'the same behaviour on every transport',
  types: [],
  nothing: 'a stream shows at most one transport; the test suite covers all of them',
  create(tally, { transports }) {
    return {
      push() {},
      end() {
        if (transports === null) return;
        for (const name of TRANSPORTS) {
          const passed = transports[name];
          const why = passed === undefined ? `${name} was not tested` : `${name} failed`;
          tally.judge(NOWHERE, passed === true ? null : why);
        }
      },
    };
  },
};

export const PROTOCOL_RULES: readonly SectionRule[] = [compliance, integration];
