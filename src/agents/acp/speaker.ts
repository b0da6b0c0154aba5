/** Who speaks, what it does differently from others, and the session it speaks in. */
import { own } from '../../lib/own.ts';
import type { Drafts } from '../kit/drafts.ts';
import { filledOf, idOf, nativeOf, textOf } from '../kit/native.ts';
import { type ClientParams, nativesOf, type Params, type Result } from './protocol.ts';
import type { UsageScope } from './usage.ts';

interface Speaker {
  readonly usage?: UsageScope;
  /** How texts begin that the program says itself, as if its model had. */
  readonly own_texts?: readonly string[];
  /** What parts server and tool in the name of an MCP tool. */
  readonly mcp_separator?: string;
  /** Texts of a sub-agent are not marked: the root agent is silent while one runs. */
  readonly unmarked_sub_agents?: boolean;
}

/** By the name in `agentInfo`. */
const SPEAKERS: Readonly<Record<string, Speaker>> = {
  Copilot: {
    usage: 'session',
    own_texts: ['Info: '],
    mcp_separator: '-',
    unmarked_sub_agents: true,
  },
  OpenCode: { usage: 'request', mcp_separator: '_' },
  'gemini-cli': { own_texts: ['[MODE_UPDATE] '] },
};
const ANYBODY: Speaker = {};

/** Stand for whatever the agent chooses. */
const NO_MODEL: ReadonlySet<string> = new Set(['auto', 'default']);

export class Session {
  speaker = ANYBODY;
  readonly #to: Drafts;
  /** Name and version of the agent. */
  #who: string | null = null;
  #cwd: string | null = null;
  #session_id: string | null = null;

  constructor(to: Drafts) {
    this.#to = to;
  }

  /** Whether what is said belongs to another session than the one that was asked for. */
  isOther({ sessionId }: Params): boolean {
    const id = idOf(sessionId);
    return id !== null && this.#session_id !== null && id !== this.#session_id;
  }

  /** A request of the client in a session, or for one. */
  asked(params: ClientParams): void {
    this.#cwd = filledOf(params.cwd) ?? this.#cwd;
    this.#session_id = idOf(params.sessionId) ?? this.#session_id;
  }

  /** The answer to `initialize`; version 2 calls it `info`. */
  initialised(result: Result): void {
    const info = nativeOf(result.agentInfo) ?? nativeOf(result.info);
    const name = idOf(info?.name);
    this.#who = [name, idOf(info?.version)].filter((word) => word !== null).join(' ') || null;
    this.speaker = own(SPEAKERS, name ?? '') ?? ANYBODY;
  }

  started(result: Result): void {
    this.#session_id = idOf(result.sessionId) ?? this.#session_id;
    this.#to.session({
      session_id: this.#session_id,
      model: modelOf(result),
      agent_version: this.#who,
      cwd: this.#cwd,
      permission_mode: modeOf(result),
    });
  }
}

function optionOf(result: Result, category: string): string | null {
  const option = nativesOf(result.configOptions).find((one) => one.category === category);
  return idOf(option?.currentValue);
}

/** The id, or where that is an address inside the agent, the name. */
function modelOf(result: Result): string | null {
  const models = nativeOf(result.models);
  const id = idOf(models?.currentModelId) ?? optionOf(result, 'model');
  if (id === null || NO_MODEL.has(id)) return null;
  if (!id.startsWith('$')) return id;
  const entry = nativesOf(models?.availableModels).find((one) => one.modelId === id);
  return textOf(entry?.name) ?? id;
}

/** Some write it as an address whose last part is the mode. */
function modeOf(result: Result): string | null {
  const mode = idOf(nativeOf(result.modes)?.currentModeId) ?? optionOf(result, 'mode');
  return mode === null ? null : mode.slice(mode.lastIndexOf('#') + 1);
}
