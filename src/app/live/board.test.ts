/** The log of a collector's board for a backlog: messages that are only late. */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { stream } from '../../../test/build-live.ts';
import { verifies } from '../../../test/e2e/verifies.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { readText } from '../../live/protocol/messages.ts';
import { APP_LIMITS } from '../limits.ts';
import { createBoard } from './board.ts';
import { isOnlyLate } from './failing-log.ts';
import { livePaths } from './paths.ts';

const CALLS = 1_000;
const WHOLE = APP_LIMITS.late_whole_max;

verifies(
  'CF-4',
  'the first late messages of a backlog are logged in full, and the others counted',
  () => {
    const paths = livePaths(join(testFolder(), 'state'));
    mkdirSync(paths.dir, { recursive: true });
    const board = createBoard(paths);
    const made = stream();
    made.delay_ms = 3_600_000;
    made.start();
    for (let at = 0; at < CALLS; at++) made.request(`c${at}`).response(`c${at}`);
    // Late and also wrong: worth logging.
    made.response('c0');
    for (const { text, received_ms = 0 } of made.lines)
      board.take(readText(text), { received_ms, connection: 'k1' });
    const { failed, checked } = board.state().report.rules.find(({ id }) => id === '3.2') ?? {};
    const late = 2 * CALLS + 2;
    expect([failed, checked]).toEqual([late, late]);
    board.close();
    const lines = readFileSync(paths.failing, 'utf8').trimEnd().split('\n');
    const kept = lines.map((line) => JSON.parse(line));
    const whole = kept.filter(({ text }) => text !== undefined);
    expect(whole.map(({ text }) => JSON.parse(text).seq)).toEqual([
      ...Array.from({ length: WHOLE }, (_, at) => at + 1),
      late,
    ]);
    const summed = late - WHOLE - 1;
    expect(kept.filter((one) => one.late !== undefined)).toMatchObject([
      {
        connection: 'k1',
        failed: [
          {
            rule: '3.2',
            why: `${summed} more messages arrived late`,
          },
        ],
        late: { session_id: 's1', messages: summed, first_seq: WHOLE + 1, last_seq: late - 1 },
      },
    ]);
    expect(board.state()).toMatchObject({
      failing_written: WHOLE + 1,
      failing_summed: summed,
      failing_lost: 0,
    });
  },
);

verifies(
  'CF-4',
  'messages from a clock ahead are not late: each is logged in full, with its cause',
  () => {
    const paths = livePaths(join(testFolder(), 'state'));
    mkdirSync(paths.dir, { recursive: true });
    const board = createBoard(paths);
    const made = stream();
    made.delay_ms = -3_600_000;
    made.start();
    for (let at = 0; at < 2 * WHOLE; at++) made.request(`c${at}`);
    for (const { text, received_ms = 0 } of made.lines)
      board.take(readText(text), { received_ms, connection: 'k1' });
    board.close();
    const lines = readFileSync(paths.failing, 'utf8').trimEnd().split('\n');
    expect(lines).toHaveLength(2 * WHOLE + 1);
    for (const { text, failed } of lines.map((line) => JSON.parse(line)))
      expect([typeof text, failed[0].why]).toEqual([
        'string',
        'it arrived 3600000 ms before its timestamp: the clocks differ',
      ]);
    const rule = [{ rule: '3.2' }];
    expect([isOnlyLate(rule, -3_600_000), isOnlyLate(rule, 3_600_000)]).toEqual([false, true]);
  },
);
