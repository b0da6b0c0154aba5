// Notices of bundled packages: their licences require that the text is part of every copy.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Licences that require only their notice. */
const KNOWN = new Set(['MIT', 'ISC', '0BSD', 'BSD-2-Clause', 'BSD-3-Clause']);

/**
 * Packages with code in the outputs of these builds, as folders below `root`.
 * @param {{ outputs: Record<string, { inputs: Record<string, { bytesInOutput: number }> }> }[]} metafiles
 */
export function bundledPackages(metafiles) {
  const folders = new Set();
  for (const { outputs } of metafiles)
    for (const { inputs } of Object.values(outputs))
      for (const [path, { bytesInOutput }] of Object.entries(inputs)) {
        const found = /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path);
        if (found !== null && bytesInOutput > 0) folders.add(found[0]);
      }
  return [...folders].sort();
}

/**
 * The text of the notices file. Throws for a package without a licence text or with an unknown licence.
 * @param {string} root
 * @param {string[]} folders
 */
export function noticesOf(root, folders) {
  const parts = folders.map((folder) => {
    const path = join(root, folder);
    const { name, version, license } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'));
    if (!KNOWN.has(license))
      throw new Error(
        `${name} ${version}: licence ${license}: check its conditions, then add it to scripts/notices.mjs`,
      );
    const file = readdirSync(path).find((each) => /^(licen[cs]e|copying)(\.|$)/i.test(each));
    const text = file === undefined ? '' : readFileSync(join(path, file), 'utf8').trim();
    if (text === '') throw new Error(`${name} ${version}: its package has no licence text`);
    const more = existsSync(join(path, 'NOTICE'))
      ? `\n\n${readFileSync(join(path, 'NOTICE'), 'utf8').trim()}`
      : '';
    return `${name} ${version} (${license})\n\n${text.replaceAll('\r\n', '\n')}${more}\n`;
  });
  const head = 'The files in this folder contain code of the following packages.\n';
  const line = `\n${'-'.repeat(80)}\n\n`;
  return [head, ...parts].join(line);
}
