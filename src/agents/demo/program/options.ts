/** The demo program's arguments. */
import { parseArgs } from 'node:util';
import { APPROVE_MODES, type ApproveMode } from '../../../model/words.ts';
import { SESSIONS_VARIABLE } from '../launch.ts';
import { isSessionId } from '../session.ts';

export interface Options {
  help: boolean;
  version: boolean;
  list: boolean;
  check: boolean;
  script: string | null;
  model: string | null;
  approve: ApproveMode;
  resume: string | null;
  stream: boolean;
  speed: number;
  seed: string | null;
  timestamps: boolean;
  session_dir: string | null;
}

export class UsageError extends Error {}

export const HELP = `usage: demo [options] < prompt
  --script NAME|FILE   what to play: a shipped script or a YAML file (default: default)
  --list               name the shipped scripts
  --check              read the script, say what is wrong with it, play nothing
  --speed N            1: pauses as written; 2: twice as fast; 0: none
  --seed TEXT          fixed session id and times: the same output every time
  --no-timestamps      records without times
  --session-dir DIR    keep session files there (also: ${SESSIONS_VARIABLE})
  --model NAME  --approve default|edits|all  --resume SESSION  --stream
  --version  --help`;

const text = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;

export function readOptions(args: string[], env: NodeJS.ProcessEnv): Options {
  const given = parse(args);
  const approve = given.approve ?? 'default';
  if (!(APPROVE_MODES as readonly string[]).includes(approve)) {
    throw new UsageError(`--approve must be one of ${APPROVE_MODES.join(', ')}`);
  }
  const speed = Number(given.speed ?? '1');
  if (!Number.isFinite(speed) || speed < 0)
    throw new UsageError('--speed must be a number from 0 up');
  const resume = given.resume ?? null;
  if (resume !== null && !isSessionId(resume)) throw new UsageError('--resume: no such session');
  return {
    help: given.help ?? false,
    version: given.version ?? false,
    list: given.list ?? false,
    check: given.check ?? false,
    script: given.script ?? null,
    model: given.model ?? null,
    approve: approve as ApproveMode,
    resume,
    stream: given.stream ?? false,
    speed,
    seed: given.seed ?? null,
    timestamps: given['no-timestamps'] !== true,
    session_dir: (given['session-dir'] ?? env[SESSIONS_VARIABLE]) || null,
  };
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: false,
      options: {
        help: flag,
        version: flag,
        list: flag,
        check: flag,
        script: text,
        model: text,
        approve: text,
        resume: text,
        stream: flag,
        speed: text,
        seed: text,
        'no-timestamps': flag,
        'session-dir': text,
      },
    }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}
