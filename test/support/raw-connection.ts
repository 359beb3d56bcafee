import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/**
 * A raw connection: writes go out unchanged, and reads return text until the peer ends or `until`
 * appears.
 */
export class RawConnection {
  readonly socket: Socket;
  received = '';
  ended = false;

  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1');
    this.socket.setEncoding('latin1');
    this.socket.on('data', (text: string) => {
      this.received += text;
    });
    this.socket.on('error', () => {});
    this.socket.on('close', () => {
      this.ended = true;
    });
  }

  write(text: string): void {
    this.socket.write(text);
  }

  async until(test: (received: string) => boolean): Promise<string> {
    while (!test(this.received)) {
      if (this.ended) throw new Error(`the connection ended after: ${this.received.slice(0, 500)}`);
      await Promise.race([once(this.socket, 'data'), once(this.socket, 'close')]);
    }
    return this.received;
  }

  async end(): Promise<string> {
    if (!this.ended) await once(this.socket, 'close');
    return this.received;
  }

  destroy(): void {
    this.socket.destroy();
  }
}
