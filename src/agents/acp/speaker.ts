/** The agent that speaks, its peculiarities, and the description of its sessions. */
import { own } from '../../lib/own.ts';
import { idOf, nativeOf, textOf } from '../kit/native.ts';
import { nativesOf, type Result } from './protocol.ts';
import type { UsageScope } from './usage.ts';

export interface Speaker {
  readonly usage?: UsageScope;
  /** Beginnings of texts that the program itself sends as if its model had. */
  readonly own_texts?: readonly string[];
  /** Separates server and tool in the name of an MCP tool. */
  readonly mcp_separator?: string;
  /** A sub-agent's texts are not marked. The root agent is silent while one runs. */
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

/** Placeholders for a model that the agent chooses. */
const NO_MODEL: ReadonlySet<string> = new Set(['auto', 'default']);

/** The answer to `initialize`; version 2 calls it `info`. */
export function speakerOf(result: Result): { speaker: Speaker; version: string | null } {
  const info = nativeOf(result.agentInfo) ?? nativeOf(result.info);
  const name = idOf(info?.name);
  const version = [name, idOf(info?.version)].filter((word) => word !== null).join(' ') || null;
  return { speaker: own(SPEAKERS, name ?? '') ?? {}, version };
}

function optionOf(result: Result, category: string): string | null {
  const option = nativesOf(result.configOptions).find((one) => one.category === category);
  return idOf(option?.currentValue);
}

/** The id or, if that is an address inside the agent, the name. */
export function modelOf(result: Result): string | null {
  const models = nativeOf(result.models);
  const id = idOf(models?.currentModelId) ?? optionOf(result, 'model');
  if (id === null || NO_MODEL.has(id)) return null;
  if (!id.startsWith('$')) return id;
  const entry = nativesOf(models?.availableModels).find((one) => one.modelId === id);
  return textOf(entry?.name) ?? id;
}

/** Some agents write it as an address that ends with the mode. */
export function modeOf(result: Result): string | null {
  const mode = idOf(nativeOf(result.modes)?.currentModeId) ?? optionOf(result, 'mode');
  return mode === null ? null : mode.slice(mode.lastIndexOf('#') + 1);
}
