/** The command line of the CLI. Pure. */
import { launchOf } from '../kit/opencode-family/launch.ts';

export const launch = launchOf('kilo', 'KILO_PERMISSION');
