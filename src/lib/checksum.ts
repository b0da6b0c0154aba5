/** Checksums of text, for pure modules that cannot import Node's crypto. */
import { crc32 } from 'node:zlib';

/** CRC-32 of the text as UTF-8. */
export const checksum = (text: string): number => crc32(text);
