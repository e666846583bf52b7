import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.security.Security;
import java.util.Arrays;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.SSLSocket;

/** A JSSE server. Java is the only runtime of today that still speaks SSLv3 and 3DES when it is told to. */
final class Server {
    private static final int PATIENCE_MS = 5000;

    /** Arguments: address, port, protocols and suites (commas), "server" or "client", "none", "requested" or "required". */
    public static void main(String[] arguments) throws Exception {
        Security.setProperty("jdk.tls.disabledAlgorithms", "");
        Security.setProperty("jdk.tls.legacyAlgorithms", "");
        Security.setProperty("jdk.certpath.disabledAlgorithms", "");
        SSLServerSocket listener = (SSLServerSocket) SSLContext.getDefault()
            .getServerSocketFactory()
            .createServerSocket(Integer.parseInt(arguments[1]), 50, InetAddress.getByName(arguments[0]));
        SSLParameters parameters = listener.getSSLParameters();
        parameters.setProtocols(arguments[2].split(","));
        parameters.setCipherSuites(arguments[3].split(","));
        parameters.setUseCipherSuitesOrder(arguments[4].equals("server"));
        parameters.setWantClientAuth(arguments[5].equals("requested"));
        if (arguments[5].equals("required")) {
            parameters.setNeedClientAuth(true);
        }
        listener.setSSLParameters(parameters);
        System.out.println(Arrays.toString(listener.getEnabledCipherSuites()));
        watchInput();
        while (true) {
            SSLSocket socket = (SSLSocket) listener.accept();
            new Thread(() -> converse(socket)).start();
        }
    }

    private static void converse(SSLSocket socket) {
        try (socket) {
            socket.setSoTimeout(PATIENCE_MS);
            socket.startHandshake();
            socket.getInputStream().transferTo(OutputStream.nullOutputStream());
        } catch (IOException refusedOrGone) {
            // What the client did is the client's business to observe.
        }
    }

    /** End with the standard input, so that the server never outlives whoever started it. */
    private static void watchInput() {
        Thread watcher = new Thread(() -> {
            try {
                System.in.transferTo(OutputStream.nullOutputStream());
            } catch (IOException closed) {
                // The same as its end.
            }
            System.exit(0);
        });
        watcher.setDaemon(true);
        watcher.start();
    }
}
