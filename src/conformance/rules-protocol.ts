/** Criteria 7.1–7.2: the protocol as a whole. */
import { LIVE_TYPES, LIVE_VERSION } from '../model/live-words.ts';
import type { SectionRule } from './rule.ts';
import type { Item } from './tracked.ts';
import { type Message, NOWHERE } from './types.ts';

function handshakeFault({ type, data }: Message): string | null {
  const info = data.server_info as { protocol_version?: unknown } | undefined;
  const version = type === 'handshake_request' ? data.version : info?.protocol_version;
  if (version !== LIVE_VERSION) return `the version is ${version}, not ${LIVE_VERSION}`;
  if (type === 'handshake_response' && data.success === true && data.session_id == null)
    return 'a handshake that succeeded names no session';
  return null;
}

/** Whether the handshake offers types of messages at all, and which one it lacks. */
function offerOf({ data }: Message): {
  offers: boolean;
  lacks: string | null;
} {
  const features = new Set(data.supported_features as string[]);
  const offers = LIVE_TYPES.some((type) => features.has(type));
  const lacks = LIVE_TYPES.find((type) => !features.has(type)) ?? null;
  return { offers, lacks: offers ? lacks : null };
}

function orderFault({ standing, seq, expected_seq }: Item): string | null {
  switch (standing) {
    case 'gap':
      return `number ${seq} comes where ${expected_seq} is due`;
    case 'late':
      return `number ${seq} comes after ${expected_seq - 1}`;
    case 'conflict':
      return `number ${seq} was there already, with other content`;
    default:
      return null;
  }
}

const compliance: SectionRule = {
  id: '7.1',
  title: 'every line is a message of the protocol, in order',
  types: null,
  nothing: 'there is no line',
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
      if (fault !== null || message === null) return fault?.message ?? 'no message';
      if (message.type === 'handshake_request' || message.type === 'handshake_response')
        return shaken(message);
      if (session?.messages === 0 && item.standing === 'next' && seq !== 1 && !live)
        return `the session begins with number ${seq}, not with 1`;
      return orderFault(item);
    }
    return {
      push: (item) => tally.judge(item, wrong(item)),
      unjudged: () => [
        ...(handshakes === 0 ? ['the versions of the two ends: no handshake'] : []),
        ...(offers === 0 ? ['which types the receiver takes: no handshake offers any'] : []),
      ],
    };
  },
};

const TRANSPORTS = ['stdio', 'tcp', 'pipe'];

const integration: SectionRule = {
  id: '7.2',
  title: 'the same on every transport',
  types: [],
  nothing: 'a stream shows one transport at most: the test suite runs over all of them',
  create(tally, { transports }) {
    return {
      push() {},
      end() {
        if (transports === null) return;
        for (const name of TRANSPORTS) {
          const held = transports[name];
          const why = held === undefined ? `${name} was not tried` : `${name} failed`;
          tally.judge(NOWHERE, held === true ? null : why);
        }
      },
    };
  },
};

export const PROTOCOL_RULES: readonly SectionRule[] = [compliance, integration];
