import { expect, test } from 'vitest';
import { createMaker } from '../../test/build-events.ts';
import type { Event } from '../model/event.ts';
import type { Io, Output } from './command.ts';
import { createPresenter } from './present.ts';

function printed(): { io: Io; text: () => string } {
  let text = '';
  const write = async (piece: string | Uint8Array) => {
    text += piece.toString();
  };
  const out: Output = { gone: false, failure: null, write, json: write, own: write };
  const terminal = { out_is_terminal: false, in_is_terminal: false, colour: false };
  const io = { out, err: out, env: {}, ...terminal, unicode: false, width: 80 };
  return { io, text: () => text };
}

for (const output of ['json', 'human'] as const) {
  test(`an event that cannot be shown as ${output} does not hide the end, and is reported`, async () => {
    const make = createMaker();
    const { io, text } = printed();
    const sink = createPresenter(io, { output, stream: false, cwd: '/w' });
    const broken = { ...make('call_requested'), data: null } as unknown as Event;
    await sink([make('run_started'), broken]);
    const end = make('run_finished', { final_output: 'the end', exit_reason: 'ok' });
    await expect(sink([end])).rejects.toThrow(TypeError);
    expect(text()).toContain(output === 'json' ? '"run_finished"' : 'ok');
  });
}
