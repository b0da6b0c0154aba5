/** The version of the package. */
import { packageVersion } from '../app/config/paths.ts';

export const VERSION = packageVersion();
