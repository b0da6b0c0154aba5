/** Certificates that a collector's certificate is checked against. */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileError, TachoError } from '../../lib/errors.ts';

/** Throws for a file without a certificate: TLS would ignore it and report another cause. */
export function readCertificates(path: string): Buffer {
  let pem: Buffer;
  try {
    pem = readFileSync(path);
  } catch (cause) {
    throw fileError(cause, path, 'live');
  }
  try {
    new X509Certificate(pem);
  } catch (cause) {
    const text = `${path}: this file contains no certificate (PEM)`;
    throw new TachoError('config_invalid', text, { stage: 'live', cause });
  }
  return pem;
}
