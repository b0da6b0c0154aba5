/** Who speaks, and the session it speaks in. */
import type { Draft } from '../../model/draft.ts';
import { filledOf, idOf, type Native, nativeOf, nativesOf, textOf } from './native.ts';
import { type Speaker, speakerOf } from './records.ts';

/** Stand for whatever the agent chooses. */
const NO_MODEL: ReadonlySet<string> = new Set(['auto', 'default']);

export class Session {
  speaker: Speaker = speakerOf(null);
  #name: string | null = null;
  #version: string | null = null;
  #cwd: string | null = null;
  #session_id: string | null = null;

  /** Whether what is said belongs to another session than the one that was asked for. */
  isOther(params: Native): boolean {
    const id = idOf(params.sessionId);
    return id !== null && this.#session_id !== null && id !== this.#session_id;
  }

  /** A request of the client. */
  asked(method: string, params: Native): void {
    if (!method.startsWith('session/')) return;
    this.#cwd = filledOf(params.cwd) ?? this.#cwd;
    this.#session_id = idOf(params.sessionId) ?? this.#session_id;
  }

  /** The answer to `initialize`; version 2 calls it `info`. */
  initialised(result: Native): void {
    const info = nativeOf(result.agentInfo) ?? nativeOf(result.info);
    this.#name = idOf(info?.name);
    this.#version = idOf(info?.version);
    this.speaker = speakerOf(this.#name);
  }

  started(result: Native, at_ms: number | undefined, out: Draft[]): void {
    this.#session_id = idOf(result.sessionId) ?? this.#session_id;
    const who = [this.#name, this.#version].filter((word) => word !== null).join(' ');
    const data = {
      session_id: this.#session_id,
      model: modelOf(result),
      agent_version: who === '' ? null : who,
      cwd: this.#cwd,
      tools: null,
      permission_mode: modeOf(result),
    };
    out.push({ kind: 'session_started', at_ms, data });
  }
}

function optionOf(result: Native, category: string): string | null {
  const option = nativesOf(result.configOptions).find((one) => one.category === category);
  return idOf(option?.currentValue);
}

/** The id, or where that is an address inside the agent, the name. */
function modelOf(result: Native): string | null {
  const models = nativeOf(result.models);
  const id = idOf(models?.currentModelId) ?? optionOf(result, 'model');
  if (id === null || NO_MODEL.has(id)) return null;
  if (!id.startsWith('$')) return id;
  const entry = nativesOf(models?.availableModels).find((one) => one.modelId === id);
  return textOf(entry?.name) ?? id;
}

/** Some write it as an address whose last part is the mode. */
function modeOf(result: Native): string | null {
  const mode = idOf(nativeOf(result.modes)?.currentModeId) ?? optionOf(result, 'mode');
  return mode === null ? null : mode.slice(mode.lastIndexOf('#') + 1);
}
