/** Effect of each approval mode, and starts that the CLI refuses. Checked with 2.1.325. Pure. */
import type { LaunchSetting } from '../../model/agent.ts';

export const approval = {
  default:
    'Reads files. Denies edits and any command that needs approval, unless its settings or `--allowedTools` allow them.',
  edits:
    'Edits files in the working directory. Still denies other commands, including tests, unless `--allowedTools` allows them: `-- --allowedTools "Bash(npm test)"`.',
  all: 'Denies nothing. As root it refuses to start, unless `IS_SANDBOX=1` is set.',
};

export function caution({ approve, env, uid }: LaunchSetting): string | null {
  if (approve !== 'all' || uid !== 0 || env.IS_SANDBOX === '1') return null;
  return 'Claude Code refuses --approve all as root: run it as another user, or set IS_SANDBOX=1 if the machine is a sandbox';
}
