/**
 * The ways to notify: on the desktop, by a request to a server, by a program. Contract: no text passes through a shell
 * or is interpreted as markup. Each way has a time limit, and rejects with an Error that contains no secrets of a URL.
 */
import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { findProgram } from '../../capture/source/find-program.ts';
import { durationText } from '../../lib/figures.ts';
import { withoutMarkup } from '../../lib/foreign-text.ts';
import { own } from '../../lib/own.ts';
import { APP_LIMITS } from '../limits.ts';

export interface ActionContext {
  env: NodeJS.ProcessEnv;
  platform: NodeJS.Platform;
  home: string;
  /** Ends the action. */
  signal: AbortSignal;
}

/** Runs a program with a text on its stdin. Its whole process group is killed when the time is up. */
export function runProgram(
  [program, ...args]: readonly [string, ...string[]],
  input: string,
  { env, home, signal, platform }: ActionContext,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const own_group = platform !== 'win32';
    const child = spawn(program, args, {
      cwd: home,
      env,
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: own_group,
      windowsHide: true,
    });
    const kill = () => {
      try {
        if (own_group && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
        else child.kill('SIGKILL');
      } catch {
        // It has already exited.
      }
    };
    const most = APP_LIMITS.notify_action_ms;
    let why: string | null = null;
    const end = (reason: string) => {
      why ??= reason;
      kill();
    };
    const stop = () => end('was stopped');
    const timer = setTimeout(() => end(`timed out after ${durationText(most)}`), most);
    signal.addEventListener('abort', stop);
    const done = (failure: string | null) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      if (failure === null) resolve();
      else reject(new Error(failure));
    };
    // A program that does not read its input may still succeed.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
    child.on('error', (error) => done(`cannot be started: ${error.message}`));
    child.on('exit', (code, by) =>
      done(why ?? (code === 0 ? null : `ended with ${by ?? `exit code ${code}`}`)),
    );
  });
}

const WAITS_MS = [1_000, 4_000];

/** Posts JSON. Redirects are not followed: they could lead anywhere. */
export async function post(url: string, body: string, { signal }: ActionContext): Promise<void> {
  for (let tried = 0; ; tried++) {
    const failure = await postOnce(url, body, signal);
    if (failure === null) return;
    const wait_ms = failure.again ? WAITS_MS[tried] : undefined;
    if (wait_ms === undefined) throw new Error(failure.why);
    await sleep(wait_ms, undefined, { signal });
  }
}

interface PostFailure {
  why: string;
  /** Whether another attempt can help. */
  again: boolean;
}

async function postOnce(
  url: string,
  body: string,
  signal: AbortSignal,
): Promise<PostFailure | null> {
  const most = APP_LIMITS.notify_action_ms;
  const timeout = AbortSignal.timeout(most);
  try {
    const {
      ok,
      status,
      body: answer,
    } = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': 'tacho' },
      body,
      redirect: 'manual',
      signal: AbortSignal.any([signal, timeout]),
    });
    await answer?.cancel();
    if (ok) return null;
    return { why: `the server answered ${status}`, again: status === 429 || status >= 500 };
  } catch (error) {
    if (signal.aborted) return { why: 'was stopped', again: false };
    if (timeout.aborted) return { why: `timed out after ${durationText(most)}`, again: true };
    const cause = (error as { cause?: NodeJS.ErrnoException }).cause;
    return { why: `the server cannot be reached: ${cause?.code ?? 'failed'}`, again: true };
  }
}

interface DesktopText {
  title: string;
  text: string;
}

interface Desktop {
  program: string;
  args(texts: DesktopText): string[];
  /** Variables with the texts, for a program that takes them so. */
  env?(texts: DesktopText): Record<string, string>;
}

const APPLE_SCRIPT =
  'on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run';

/** The texts become text nodes, so that they cannot contain elements. */
const TOAST = `
$null = [Windows.UI.Notifications.ToastNotificationManager, Windows.UI.Notifications, ContentType = WindowsRuntime]
$xml = [Windows.UI.Notifications.ToastNotificationManager]::GetTemplateContent([Windows.UI.Notifications.ToastTemplateType]::ToastText02)
$nodes = $xml.GetElementsByTagName('text')
$null = $nodes.Item(0).AppendChild($xml.CreateTextNode($env:TACHO_TITLE))
$null = $nodes.Item(1).AppendChild($xml.CreateTextNode($env:TACHO_TEXT))
[Windows.UI.Notifications.ToastNotificationManager]::CreateToastNotifier('tacho').Show([Windows.UI.Notifications.ToastNotification]::new($xml))`;

/** It interprets markup in the text, not in the title. */
const NOTIFY_SEND: Desktop = {
  program: 'notify-send',
  args: ({ title, text }) => ['--app-name=tacho', '--', title, withoutMarkup(text)],
};

const DESKTOPS: Readonly<Record<string, Desktop>> = {
  darwin: {
    program: 'osascript',
    args: ({ title, text }) => ['-e', APPLE_SCRIPT, title, text],
  },
  win32: {
    program: 'powershell.exe',
    args: () => ['-NoProfile', '-NonInteractive', '-Command', TOAST],
    env: ({ title, text }) => ({ TACHO_TITLE: title, TACHO_TEXT: text }),
  },
};

/** A text that begins with a dash could be taken for an option. */
const notAnOption = (text: string) => text.replace(/^-/, '\u2010');

export async function showOnDesktop(given: DesktopText, context: ActionContext): Promise<void> {
  const { program, args, env } = own(DESKTOPS, context.platform) ?? NOTIFY_SEND;
  const path = findProgram(program, context.env.PATH, context.home);
  if (path === null) throw new Error(`${program} is not installed`);
  const texts = { title: notAnOption(given.title), text: notAnOption(given.text) };
  const all = { ...context.env, ...env?.(texts) };
  await runProgram([path, ...args(texts)], '', { ...context, env: all });
}
