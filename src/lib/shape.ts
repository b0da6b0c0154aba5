/**
 * Shapes of foreign records, in a notation for people: `id title? usage{input output} input* content{<text> text <call> id}`.
 * Names are fields; `?`: not in every record; `*`: what is inside is not ours to know; `"`: a text that holds JSON; `{…}`: the
 * fields of the object, or of the objects in the list; `<kind>`: the fields that follow are those of objects of this kind.
 */

export interface Field {
  readonly always: boolean;
  /** What is inside is not ours to know. */
  readonly opaque: boolean;
  /** The objects inside are JSON in a text. */
  readonly json: boolean;
  /** The objects inside; null: there are none, or they are not looked into. */
  readonly inner: Shape | null;
}

/** The fields of objects of one kind, in one place. */
export interface Fields {
  /** Where they stand: `assistant: message.content<text>`. */
  readonly path: string;
  readonly fields: Map<string, Field>;
}

/** Kind → fields; objects without a kind are of the kind ''. */
export type Shape = Map<string, Fields>;

const TOKEN = /<[^>]*>|[{}]|[^\s{}<>?*"]+[?*"]*/g;

/** A declaration that does not parse is a fault of ours and throws. */
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

/** A field's place, for people. */
export function join(path: string, name: string): string {
  return path.endsWith(': ') ? `${path}${name}` : `${path}.${name}`;
}

/** The values of these fields, where they are texts, as an object's kind. */
export function kindBy(...names: string[]): (value: Readonly<Record<string, unknown>>) => string {
  return (value) =>
    names
      .map((name) => value[name])
      .filter((part) => typeof part === 'string')
      .join('/');
}
