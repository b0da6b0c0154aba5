/**
 * Shapes of foreign records, in a notation for people: `id title? usage{input output} input* content{<text> text <call> id}`.
 * Names are fields. `?`: not in every record. `*`: the contents are opaque. `"`: a text that contains JSON. `{…}`: the
 * fields of the object, or of the objects in the list. `<kind>`: the fields of objects of this kind follow.
 */

export interface Field {
  readonly always: boolean;
  /** The contents are opaque. */
  readonly opaque: boolean;
  /** The nested objects are JSON in a text. */
  readonly json: boolean;
  /** The nested objects; null if there are none or they are not inspected. */
  readonly inner: Shape | null;
}

/** The fields of objects of one kind in one position. */
export interface Fields {
  /** The position: `assistant: message.content<text>`. */
  readonly path: string;
  readonly fields: Map<string, Field>;
}

/** Kind → fields. Objects without a kind have the kind ''. */
export type Shape = Map<string, Fields>;

const TOKEN = /<[^>]*>|[{}]|[^\s{}<>?*"]+[?*"]*/g;

/** Throws for an invalid declaration, which is a programming error. */
export function parseShape(text: string, path: string): Shape {
  const tokens = text.match(TOKEN) ?? [];
  let at = 0;
  const shapeAt = (where: string): Shape => {
    const shape: Shape = new Map();
    let current: Fields | null = null;
    const begin = (kind: string): Fields => {
      const name = kind === '' ? where : `${where}<${kind}>`;
      current = { path: name, fields: new Map() };
      shape.set(kind, current);
      return current;
    };
    for (; at < tokens.length && tokens[at] !== '}'; at++) {
      const token = tokens[at] as string;
      if (token.startsWith('<')) begin(token.slice(1, -1));
      else {
        const fields: Fields = current ?? begin('');
        const name = token.replace(/[?*"]+$/, '');
        if (name === '' || name === '{') throw new Error(`shape of ${where}: no name at ${at}`);
        let inner: Shape | null = null;
        if (tokens[at + 1] === '{') {
          at += 2;
          inner = shapeAt(join(fields.path, name));
        }
        const marks = token.slice(name.length);
        const [always, opaque] = [!marks.includes('?'), marks.includes('*')];
        fields.fields.set(name, { always, opaque, json: marks.includes('"'), inner });
      }
    }
    return shape;
  };
  const shape = shapeAt(path);
  if (at < tokens.length) throw new Error(`shape of ${path}: a bracket too many`);
  return shape;
}

/** The readable position of a field. */
export function join(path: string, name: string): string {
  return path.endsWith(': ') ? `${path}${name}` : `${path}.${name}`;
}

/** An object's kind: the text values of these fields. */
export function kindBy(...names: string[]): (value: Readonly<Record<string, unknown>>) => string {
  return (value) =>
    names
      .map((name) => value[name])
      .filter((part) => typeof part === 'string')
      .join('/');
}
