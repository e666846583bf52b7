import java.io.OutputStream;
import java.security.Security;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.startup.Tomcat;
import org.apache.tomcat.util.net.SSLHostConfig;
import org.apache.tomcat.util.net.SSLHostConfigCertificate;

/** Tomcat with one connector and a certificate of each kind, as its documentation configures two (JSSE, PEM files). */
final class TomcatServer {
    /** Arguments: address, port, protocols ("TLSv1.2+TLSv1.3"), ciphers, "server" or "client", RSA pair, ECDSA pair. */
    public static void main(String[] arguments) throws Exception {
        // Static ECDH is off in current Java releases, and on in older ones.
        Security.setProperty("jdk.tls.disabledAlgorithms", Security.getProperty("jdk.tls.disabledAlgorithms") + ", ECDH");
        Connector connector = new Connector("HTTP/1.1");
        connector.setPort(Integer.parseInt(arguments[1]));
        connector.setProperty("address", arguments[0]);
        connector.setSecure(true);
        connector.setScheme("https");
        connector.setProperty("SSLEnabled", "true");
        SSLHostConfig tls = new SSLHostConfig();
        tls.setProtocols(arguments[2]);
        tls.setCiphers(arguments[3]);
        tls.setHonorCipherOrder(arguments[4].equals("server"));
        SSLHostConfigCertificate.Type[] types = {SSLHostConfigCertificate.Type.RSA, SSLHostConfigCertificate.Type.EC};
        for (int index = 0; index < types.length; index++) {
            SSLHostConfigCertificate certificate = new SSLHostConfigCertificate(tls, types[index]);
            certificate.setCertificateFile(arguments[5 + 2 * index]);
            certificate.setCertificateKeyFile(arguments[6 + 2 * index]);
            tls.addCertificate(certificate);
        }
        connector.addSslHostConfig(tls);
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(System.getProperty("user.dir"));
        tomcat.getService().addConnector(connector);
        tomcat.addContext("", null);
        tomcat.start();
        System.in.transferTo(OutputStream.nullOutputStream());
        System.exit(0);
    }
}
