/** The remote that a git configuration names, without credentials. */

/**
 * The URL of `origin`, otherwise of the first remote. Null if there is none, or if its form is unknown and may
 * contain credentials.
 */
export function remoteIn(config: string): string | null {
  let remote: string | null = null;
  const urls = new Map<string, string>();
  for (const line of config.split(/\r?\n/)) {
    const [, section] = /^\s*\[\s*([^\]]*?)\s*\]/.exec(line) ?? [];
    if (section !== undefined) remote = /^remote\s+"(.*)"$/i.exec(section)?.[1] ?? null;
    const [, value] = /^(?:\s*\[[^\]]*\])?\s*url\s*=\s*(.*)$/i.exec(line) ?? [];
    if (remote !== null && value !== undefined && !urls.has(remote)) urls.set(remote, value);
  }
  const url = urls.get('origin') ?? [...urls.values()][0];
  return url === undefined ? null : withoutCredentials(plainValue(url));
}

/** Removes quotes and a trailing comment. */
function plainValue(value: string): string {
  const parts = value.matchAll(/"((?:[^"\\]|\\.)*)"|\\(.)|([#;].*)|([^"\\#;]+)/g);
  return [...parts]
    .map(
      ([, quoted, escaped, , plain]) =>
        quoted?.replaceAll(/\\(.)/g, '$1') ?? escaped ?? plain ?? '',
    )
    .join('')
    .trim();
}

const URL_CHARS_MAX = 2000;
const HOST = String.raw`(?:[\w.-]*|\[[0-9a-f:.]+\])`;
/** `https://user:token@host:443/path?query`. */
const WITH_SCHEME = new RegExp(
  String.raw`^([a-z][a-z0-9+.-]*://)(?:[^/]*@)?(${HOST}(?::\d+)?(?:/[^?#]*)?)(?:[?#].*)?$`,
  'i',
);
/** `git@host:path`. */
const LIKE_SCP = new RegExp(`^(?:([^/:]*)@)?(${HOST}:(?!/).*)$`, 'i');
/** A local folder. */
const LOCAL = /^(?:\.{0,2}[/\\]|[a-z]:[/\\])[^@]*$/i;

/** Null for an unknown form. A user name is kept only if it is the usual `git`. */
function withoutCredentials(url: string): string | null {
  if (url.length > URL_CHARS_MAX || /[\s\u0000-\u001f\u007f]/.test(url)) return null;
  const [, scheme, rest] = WITH_SCHEME.exec(url) ?? [];
  if (scheme !== undefined && rest !== undefined)
    // A path may contain another URL, as proxy URLs do.
    return rest.includes('@') ? null : scheme + rest;
  if (LOCAL.test(url)) return url;
  const [, user, place] = LIKE_SCP.exec(url) ?? [];
  if (place === undefined || place.includes('@') || place.includes('::')) return null;
  return user === 'git' ? `git@${place}` : place;
}
